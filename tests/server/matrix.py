"""Who may do what: the whole table, beside which every cell of the server is held."""

from dataclasses import dataclass

OWN, OTHER, NOBODYS = "own", "other", "nobody's"
"""Objects of the patients; of the staff, or of another analyst; that are not there."""

ROLES = {
    ("GET", "/v1/datasets"): ("analyst", "owner", "auditor"),
    ("GET", "/v1/datasets/{name}/examples"): ("analyst", "owner", "auditor"),
    ("POST", "/v1/quote"): ("analyst", "owner"),
    ("POST", "/v1/curve"): ("analyst", "owner"),
    ("POST", "/v1/explain"): ("analyst", "owner"),
    ("POST", "/v1/ask"): ("analyst",),
    ("POST", "/v1/open"): ("analyst", "owner"),
    ("POST", "/v1/fit/quote"): ("analyst", "owner"),
    ("POST", "/v1/fit"): ("analyst",),
    ("GET", "/v1/releases/{release_key}"): ("analyst", "owner"),
    ("GET", "/v1/releases/{release_key}/certificate"): ("analyst", "owner"),
    ("GET", "/v1/answers"): ("analyst", "owner"),
    ("GET", "/v1/answers/{receipt}"): ("analyst", "owner"),
    ("GET", "/v1/questions"): ("analyst", "owner"),
    ("GET", "/v1/questions/{name}"): ("analyst", "owner"),
    ("PUT", "/v1/questions/{name}"): ("analyst", "owner"),
    ("DELETE", "/v1/questions/{name}"): ("analyst", "owner"),
    ("GET", "/v1/publications"): ("analyst", "owner"),
    ("GET", "/v1/publications/{name}"): ("analyst", "owner"),
    ("GET", "/v1/status"): ("analyst", "owner", "auditor"),
    ("GET", "/v1/attacks"): ("analyst", "owner", "auditor"),
    ("POST", "/v1/attacks/{story}"): ("owner", "auditor"),
    ("GET", "/v1/me"): ("owner", "analyst", "auditor", "operator"),
    ("GET", "/v1/ledger/{population}"): ("auditor", "owner"),
    ("GET", "/v1/ledger/{population}/history"): ("auditor", "owner"),
    ("GET", "/v1/ledger/{population}/spending"): ("auditor", "owner"),
    ("GET", "/v1/ledger/{population}/report"): ("auditor", "owner"),
    ("GET", "/v1/ledger/{population}/registry"): ("auditor", "owner"),
    ("GET", "/v1/ledger/{population}/anchors"): ("auditor", "owner"),
    ("POST", "/v1/verify"): ("auditor", "owner"),
    ("GET", "/v1/ledger/{population}/verify"): ("auditor", "owner"),
    ("POST", "/v1/ledger/{population}/look"): ("owner",),
    ("POST", "/v1/ledger/{population}/freeze"): ("owner",),
    ("POST", "/v1/ledger/{population}/thaw"): ("owner",),
    ("GET", "/v1/waiting"): ("owner",),
    ("GET", "/v1/ledger/{population}/proposals"): ("auditor", "owner"),
    ("POST", "/v1/ledger/{population}/proposals/{number}/approve"): ("owner",),
    ("POST", "/v1/ledger/{population}/proposals/{number}/withdraw"): ("owner",),
    ("GET", "/v1/ledger/{population}/keys"): ("auditor", "owner"),
    ("POST", "/v1/ledger/{population}/keys"): ("owner",),
    ("GET", "/v1/ledger/{population}/quotas"): ("auditor", "owner"),
    ("POST", "/v1/ledger/{population}/quotas"): ("owner",),
    ("GET", "/v1/ledger/{population}/teams"): ("auditor", "owner"),
    ("POST", "/v1/ledger/{population}/teams/join"): ("owner",),
    ("POST", "/v1/ledger/{population}/teams/leave"): ("owner",),
    ("GET", "/v1/ledger/{population}/requests"): ("analyst", "auditor", "owner"),
    ("POST", "/v1/ledger/{population}/requests"): ("analyst",),
    ("POST", "/v1/ledger/{population}/requests/{number}/grant"): ("owner",),
    ("POST", "/v1/ledger/{population}/requests/{number}/decline"): ("owner",),
    ("POST", "/v1/tokens"): ("owner",),
    ("GET", "/v1/tokens"): ("owner",),
    ("DELETE", "/v1/tokens/{token_id}"): ("owner",),
    ("POST", "/v1/setup/databases"): ("owner",),
    ("GET", "/v1/setup/draft"): ("owner",),
    ("DELETE", "/v1/setup/draft"): ("owner",),
    ("POST", "/v1/setup/tables"): ("owner",),
    ("POST", "/v1/setup/columns"): ("owner",),
    ("POST", "/v1/setup/budget"): ("owner",),
    ("GET", "/v1/setup/changes"): ("owner",),
    ("POST", "/v1/setup/apply"): ("owner",),
    ("GET", "/v1/setup/limits"): ("owner",),
    ("POST", "/v1/setup/limits"): ("owner",),
    ("POST", "/v1/setup/limits/use"): ("owner",),
    ("GET", "/health"): ("anyone",),
    ("GET", "/ready"): ("anyone",),
    ("GET", "/openapi.json"): ("anyone",),
    ("GET", "/metrics"): ("operator",),
}
"""For whom each route is."""

ABOUT = {
    "/v1/quote": "dataset",
    "/v1/curve": "dataset",
    "/v1/explain": "dataset",
    "/v1/ask": "dataset",
    "/v1/open": "dataset",
    "/v1/fit/quote": "dataset",
    "/v1/fit": "dataset",
    "/v1/releases/{release_key}": "release",
    "/v1/releases/{release_key}/certificate": "release",
    "/v1/answers/{receipt}": "answer",
    "/v1/datasets/{name}/examples": "dataset",
    "/v1/publications/{name}": "publication",
    "/v1/questions/{name}": "saved",
    "/v1/tokens": "token",
    "/v1/tokens/{token_id}": "token",
} | {path: "population" for _, path in ROLES if path.startswith("/v1/ledger/")}
"""What kind of object a route is about; others are about none."""

DATASETS = {OWN: {"people", "visits"}, OTHER: {"shifts"}}
"""The datasets of each population."""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Who:
    """A principal in a role, and what their token reaches."""

    principal: str
    role: str
    datasets: tuple[str, ...] | None = None

    @property
    def reaches(self) -> set[str]:
        """The objects that are wholly in reach."""
        return {thing for thing, names in DATASETS.items() if names <= self.names}

    @property
    def touches(self) -> set[str]:
        """The populations of which some dataset is in reach."""
        return {thing for thing, names in DATASETS.items() if names & self.names}

    @property
    def names(self) -> set[str]:
        """The datasets that are in reach."""
        every = {name for names in DATASETS.values() for name in names}
        named = every if self.datasets is None else set(self.datasets)
        if self.role == "owner":
            owned = {"olga": OWN, "oscar": OTHER}.get(self.principal)
            named = named & DATASETS[owned] if owned else set()
        return named


CALLERS = (
    Who("ann", "analyst", ("people", "visits")),
    Who("ann", "analyst", ("visits",)),
    Who("ann", "analyst"),
    Who("sam", "analyst", ("shifts",)),
    Who("olga", "owner"),
    Who("oscar", "owner"),
    Who("olga", "owner", ("shifts",)),
    Who("ann", "owner"),
    Who("abe", "auditor", ("people", "visits")),
    Who("abe", "auditor", ("shifts",)),
    Who("abe", "auditor"),
    Who("op", "operator"),
)
BAD = ("missing", "expired", "revoked", "foreign", "altered", "its hash", "another scheme")
"""What a token can be that lets nobody in."""


def expected(who: Who, state: str, method: str, path: str, thing: str) -> int:
    """The status of one cell."""
    roles = ROLES.get((method, path))
    if roles is None:
        return 405
    if roles == ("anyone",):
        return 200
    if state != "valid":
        return 401
    if who.role not in roles or path.startswith("/v1/setup/"):
        return 403  # nobody here has the right to set up, which the command line gives
    return _of_object(who, method, path, thing)


def _of_object(who: Who, method: str, path: str, thing: str) -> int:
    about = ABOUT.get(path)
    if about in {"saved", "publication"}:
        return _named(who, method, about, thing)
    if about is None or (method, path) == ("GET", "/v1/tokens"):
        return 200
    if method == "POST" and about == "token":
        return 201 if thing in who.reaches else 403  # also if it is not there
    if about == "release" and who.role == "analyst":
        # ann paid for the one about patients, and nobody here for the one about staff
        return 200 if (who.principal, thing) == ("ann", OWN) and OWN in who.reaches else 404
    if thing not in (who.touches if about == "population" else who.reaches):
        return 404
    return _in_reach(method, path, thing)


def _named(who: Who, method: str, about: str, thing: str) -> int:
    if about == "publication":  # there is one, about visits
        return 200 if thing == OWN and "visits" in who.names else 404
    # a question of the caller's own account; of another; and one that is not there
    if method == "PUT":
        return 200
    return 404 if thing != OWN else 204 if method == "DELETE" else 200


def _in_reach(method: str, path: str, thing: str) -> int:
    if (method, path[-5:]) == ("POST", "/keys"):
        return 403  # a key is proposed by a sign-in, and nobody here signed in
    if path.endswith(("/approve", "/withdraw")):
        return 404  # no proposal waits, because each population has one owner
    if path.endswith("/look") or (path.startswith("/v1/fit") and thing == OTHER):
        # nothing failed, so that there is nothing to look at; and the budget of the staff
        # counts in pure epsilon, and no model does
        return 422
    if (method, path) == ("POST", "/v1/ledger/{population}/requests"):
        return 201
    return 204 if method == "DELETE" else 200
