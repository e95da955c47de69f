from tacit.core.trust import TrustModel


def test_each_model_says_where_noise_is_added() -> None:
    assert set(TrustModel.__members__) == {"CENTRAL", "LOCAL", "SHUFFLE"}
    assert all("noise" in model.value for model in TrustModel)


def test_only_the_central_model_trusts_a_curator() -> None:
    trusting = [model for model in TrustModel if "curator" in model.value]
    assert trusting == [TrustModel.CENTRAL]
