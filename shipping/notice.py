"""Prints NOTICE: the packages that Tacit needs, or can use, and their licences.

It looks at the environment that it runs in; `just notice` makes one with all extras.
"""

from email.message import Message
from importlib.metadata import distributions

HEAD = """\
Tacit
Copyright 2026 The Tacit authors

Licensed under the Apache License, version 2.0: see LICENSE.

Tacit contains browser code of others, built from packages of npm: htmx, Vega, Vega-Lite and D3,
CodeMirror and Lezer, under the licences 0BSD, BSD-3-Clause, ISC and MIT. The files, versions
and hashes are in tacit/server/console/static/vendored.json, and the licences in
THIRD_PARTY_LICENSES.txt in the same folder.

With all its optional parts, these packages are installed beside it, each under its own licence.
psycopg (LGPL) is imported, and neither changed nor shipped.
"""


def licence_of(metadata: Message) -> str:
    """What a package says of its licence: the expression, or else the names it goes by."""
    classified = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier", [])
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    written = (metadata["License"] or "").strip().splitlines()[:1]
    return metadata["License-Expression"] or ", ".join(classified or written) or "not stated"


if __name__ == "__main__":
    found = {each.name.lower().replace("_", "-"): each.metadata for each in distributions()}
    found.pop("tacit")
    print(HEAD)
    for name, metadata in sorted(found.items()):
        print(f"- {name}: {licence_of(metadata)}")
