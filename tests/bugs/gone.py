"""No bug: a place that does not exist, which the harness must tell."""

PLACE = "tacit.core.loss:Loss.no_such_method"


def bug(original: object) -> object:
    return original
