"""The curator over HTTP: authentication, authorisation, routes and limits.

Only names that need no optional dependency are exported, because the command line issues
tokens without a running server.
"""

from tacit.server.token_policy import DAY_MS, Role, TokenScope, check_pass, owned_by, reached_by

__all__ = ["DAY_MS", "Role", "TokenScope", "check_pass", "owned_by", "reached_by"]
