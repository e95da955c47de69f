import numpy as np

from tacit.lab.selection import ConstantMechanism
from tacit.testing.mechanism_contract import (
    Draws,
    MechanismExample,
    hockey_stick_of,
    l1,
    one_by_one,
)


def p_value(draws: Draws) -> float:
    return float(np.all(draws == [20, 40]))


EXAMPLE = MechanismExample(
    mechanism=ConstantMechanism((20, 40)),
    off=ConstantMechanism((21, 42)),
    sensitivity=l1(1),
    left=(0,),
    right=(1,),
    sample=one_by_one(l1(1)),
    p_value=p_value,
    hockey_stick=hockey_stick_of({(20, 40): 1.0}, {(20, 40): 1.0}),
)
