"""All written attacks, by class."""

import answered_attacks
import engine_attacks
import function_attacks
import person_attacks
import shape_attacks
import size_attacks
import text_attacks

ATTACKS = (
    *engine_attacks.ATTACKS,
    *text_attacks.ATTACKS,
    *shape_attacks.ATTACKS,
    *function_attacks.ATTACKS,
    *person_attacks.ATTACKS,
    *size_attacks.ATTACKS,
    *answered_attacks.ATTACKS,
)
