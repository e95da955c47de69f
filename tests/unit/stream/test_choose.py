from tacit.core.loss import Loss
from tacit.core.sensitivity import Norm
from tacit.stream.factor import ALL, EACH, Tree, Window
from tacit.stream.quote import choose_factor, norm_for, worst
from tacit.stream.toeplitz import Buffered, Toeplitz


def test_totals_are_released_by_the_square_root_and_single_steps_without_a_memory() -> None:
    assert choose_factor(ALL, 52, 1, Norm.L2) == Toeplitz.square_root(52)
    assert choose_factor(EACH, 52, 1, Norm.L2) == Toeplitz.independent(52)


def test_totals_of_long_streams_are_released_with_buffers() -> None:
    assert isinstance(choose_factor(ALL, 5000, 1, Norm.L2), Buffered)


def test_pure_budgets_have_a_tree() -> None:
    assert choose_factor(ALL, 1024, 1, norm_for(Loss.pure(1))) == Tree(1024, branching=6)
    assert norm_for(Loss.zcdp(1)) is norm_for(Loss.approximate(1, "1e-6")) is Norm.L2


def test_a_window_is_no_worse_than_independent_noise_and_often_better() -> None:
    independent = worst(Toeplitz.independent(365), Window(28), 1, Norm.L2)
    chosen = choose_factor(Window(28), 365, 1, Norm.L2)
    assert worst(chosen, Window(28), 1, Norm.L2) < independent / 1.5


def test_those_who_are_in_every_step_are_best_hidden_by_fresh_noise() -> None:
    assert choose_factor(ALL, 52, 52, Norm.L2) == Toeplitz.independent(52)
