"""A survey designer asks what nobody likes to answer: each answer is true only sometimes."""

from fractions import Fraction
from math import ceil

import numpy as np

from tacit.accounting import loss_of
from tacit.core import Measure, Norm, Rule, Secret, Sensitivity
from tacit.mechanisms import LiveGateway, RandomisedResponse
from tacit.numeric.entropy import SystemEntropy

MARGIN = 0.03
"""How far off a share may be, with 95%."""

# three in four answers are true: whoever reads one learns little, and can prove nothing
question = RandomisedResponse(truth=Fraction(3, 4), choices=2)
changed = Sensitivity.of(1, Norm.LINF, Rule("a person gives one answer"))
loss = loss_of(question.event(changed), Measure.PURE)
print(f"One answer loses epsilon {float(loss.amount):.3f}.")

# the share is (told - 1/4) * 2, so its error is twice that of a share of told answers
people = ceil((1.96 * 2 * 0.5 / MARGIN) ** 2)
print(f"For a margin of {MARGIN} ask {people} people; without privacy, {people // 4}.\n")

# made up: 18 of 100 would say yes; on the phone of each this is one number, and stays there
truth = np.array([number % 100 < 18 for number in range(people)], dtype=np.int64)
gateway = LiveGateway(SystemEntropy(charge=b"the first wave of the survey"))
told = question.release(Secret(truth), changed, gateway)

found = question.estimate(told)
share, error = float(found.counts[1]) / people, 1.96 * found.standard_errors[1] / people
print(f"Said yes: {told.mean():.3f}. Meant yes: {share:.3f} ± {error:.3f}, with 95%.")
