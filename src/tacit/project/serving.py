"""How a server runs, from the project file: limits, and whom it believes; no fact."""

from dataclasses import dataclass

from tacit.project.entry import Entry

LIMITS = ("requests_per_minute", "processes", "megabytes", "seconds")


@dataclass(frozen=True, slots=True)
class Issuer:
    """Whoever signs the tokens of people (OpenID Connect).

    ``keys`` is the address of its public keys, as a JWKS. The claim ``principal`` names who
    somebody is, and ``role`` what they are here for.
    """

    issuer: str
    audience: str
    keys: str
    principal: str = "sub"
    role: str = "tacit_role"


@dataclass(frozen=True, slots=True)
class Serving:
    """What each caller, and each question below the line, may use: the same for all data.

    Where there is a ``deadline`` in seconds, every answer that is paid for leaves then.
    """

    requests_per_minute: int = 120
    processes: int = 2
    megabytes: int = 8192
    seconds: int = 60
    deadline: float | None = None
    oidc: Issuer | None = None
    on_failure: tuple[str, ...] = ()
    """A command that tells the owners of a failure, and its first arguments."""


USUAL = Serving()
"""What holds where the file says nothing."""


def serving_of(entry: Entry) -> Serving:
    """The section ``[server]``."""
    parts = entry.fields(*LIMITS, "deadline", "oidc", "on_failure")
    limits = {name: parts[name].whole() for name in LIMITS if name in parts}
    for name, limit in limits.items():
        if limit < 1:
            raise parts[name].fault(f"{name} is at least 1.")
    deadline = float(parts["deadline"].number()) if "deadline" in parts else None
    if deadline is not None and not 0 < deadline <= limits.get("seconds", USUAL.seconds):
        raise parts["deadline"].fault("deadline is above 0, and at most `seconds`.")
    oidc = _issuer(parts["oidc"]) if "oidc" in parts else None
    told = parts["on_failure"].items() if "on_failure" in parts else ()
    command = tuple(part.text() for part in told)
    if "on_failure" in parts and not command:
        raise parts["on_failure"].fault('Name a command: on_failure = ["notify-owner"].')
    return Serving(**limits, deadline=deadline, oidc=oidc, on_failure=command)


def _issuer(entry: Entry) -> Issuer:
    parts = entry.fields("issuer", "audience", "keys", "principal", "role")
    for name in ("issuer", "audience", "keys"):
        entry.part(name)
    if not parts["keys"].text().startswith(("https://", "http://127.0.0.1:")):
        raise parts["keys"].fault("Keys are fetched over TLS: https://…, a JWKS.")
    return Issuer(**{name: part.text() for name, part in parts.items()})
