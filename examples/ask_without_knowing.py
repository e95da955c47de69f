"""A survey on a sensitive question by randomised response: an answer is true only sometimes."""

from fractions import Fraction
from math import ceil

import numpy as np

from tacit.accounting import loss_of
from tacit.core import Measure, Norm, Rule, Secret, Sensitivity
from tacit.mechanisms import LiveGateway, RandomisedResponse
from tacit.numeric.entropy import SystemEntropy

MARGIN = 0.03
"""The margin of error that is wanted of a share, at the 95% level."""

# three in four answers are true: a reader of one answer learns little, and can prove nothing
question = RandomisedResponse(truth=Fraction(3, 4), choices=2)
changed = Sensitivity.of(1, Norm.LINF, Rule("a person gives one answer"))
loss = loss_of(question.event(changed), Measure.PURE)
print(f"One answer loses epsilon {float(loss.amount):.3f}.")

# the true share is (reported share - 1/4) * 2, so its error is twice that of the reported share
people = ceil((1.96 * 2 * 0.5 / MARGIN) ** 2)
print(f"For a margin of {MARGIN} ask {people} people; without privacy, {people // 4}.\n")

# synthetic: 18 of 100 would say yes; a real answer would never leave the respondent's phone
truth = np.array([number % 100 < 18 for number in range(people)], dtype=np.int64)
gateway = LiveGateway(SystemEntropy(charge=b"the first wave of the survey"))
reported = question.release(Secret(truth), changed, gateway)

found = question.estimate(reported)
share, error = float(found.counts[1]) / people, 1.96 * found.standard_errors[1] / people
print(f"Said yes: {reported.mean():.3f}. Meant yes: {share:.3f} ± {error:.3f} (95% interval).")
