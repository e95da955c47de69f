"""How events add up: written here, once, for every kind of event and every measure."""

from collections.abc import Iterator

from tacit.core.event import Composed, Event, Nothing, Repeated


def leaves(event: Event) -> Iterator[tuple[Event, int]]:
    """The leaves of ``event``, each with how often it happened.

    Guarantee: an event repeated is the same event listed so many times.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.core.noise_event import LaplaceNoise
        >>> week = LaplaceNoise(Fraction(1), Fraction(10))
        >>> [times for _, times in leaves(Repeated(Composed((week, Repeated(week, 3))), 52))]
        [52, 156]
    """
    match event:
        case Nothing():
            return
        case Composed(events):
            for part in events:
                yield from leaves(part)
        case Repeated(part, times):
            for leaf, inner in leaves(part):
                if times:
                    yield leaf, inner * times
        case _:
            yield event, 1
