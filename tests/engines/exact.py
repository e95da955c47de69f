"""A gateway that adds no noise, so that what is read can be compared with what is so."""

from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.core.unseal import unseal
from tacit.mechanisms.gateway import Draw
from tacit.noise.integers import Integers


class ExactGateway:
    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        del sensitivity, draw
        return unseal(secret)
