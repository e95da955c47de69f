"""The curator over HTTP: authentication, authorisation, routes and limits.

Only what needs no optional dependency is exported, because the command line issues tokens
without a server.
"""

from tacit.server.token_policy import DAY_MS, Role, TokenScope, check_pass

__all__ = ["DAY_MS", "Role", "TokenScope", "check_pass"]
