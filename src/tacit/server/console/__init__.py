"""The console: Tacit in a browser, for people who write no Python.

It is an application of its own that is mounted at ``/console``. A page is rendered on the
server from answers of the HTTP API, which it calls inside this process with the visitor's own
token. So it has no path to data and no rule of its own: what a token may not do over HTTP, its
owner cannot do in the browser either.
"""

from tacit.server.console.app import console_app
from tacit.server.console.code_flow import CodeFlow
from tacit.server.console.entry_links import EntryLinks

__all__ = ["CodeFlow", "EntryLinks", "console_app"]
