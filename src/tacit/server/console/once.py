"""Acts that happen once, also if a form is sent twice by a double click or a reload.

Each page has a random text in its forms. A form that is sent again from the same page, with the
same fields, gets the answer of the first time, and nothing happens again.
"""

import asyncio
from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from fastapi import Response

from tacit.server.console.visit import Visit

ONCE_FIELD = "once"
MOST_ACTS = 200
"""The most acts of a visit that are remembered; the oldest is forgotten first."""

Act = Callable[[], Coroutine[Any, Any, str]]
"""A function that acts and returns the path of the page that shows the result."""


async def act_once(visit: Visit, act: Act) -> Response:
    """Do ``act`` for the form of this visit, and open the page whose path it returns.

    Guarantee: it is done once for a page and its fields, however often the form is sent.
    """
    sent = visit.sign_in.acts
    fields = urlencode(sorted(visit.form.items()))
    key = sha256(f"{visit.request.url.path}?{fields}".encode()).hexdigest()
    if key not in sent:
        while len(sent) >= MOST_ACTS:
            del sent[next(iter(sent))]
        sent[key] = asyncio.ensure_future(act())
    try:
        return visit.redirect(await asyncio.shield(sent[key]))
    except Exception:
        sent.pop(key, None)  # nothing was done, so that it may be tried again
        raise
