"""The form of a survey: one HTML file that loads nothing and sends reports alone."""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Any

from tacit.local.browser import script
from tacit.publish.survey.survey import AGAIN, Question, Survey, fingerprint_of


def form_of(survey: Survey) -> str:
    """The page that respondents open.

    Guarantee: the browser is told to run no other script than ours, and to connect to nobody
    but where the page came from. Texts of the survey are text to it, whatever is written in
    them.
    """
    style, randomise, form = map(script, ("form.css", "randomise.js", "form.js"))
    policy = (
        f"default-src 'none'; script-src {_hash(randomise)} {_hash(form)}; "
        f"style-src {_hash(style)}; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    page = script("form.html")
    for place, text in (
        ("title", escape(survey.title)),
        ("wave", escape(survey.wave)),
        ("promise", escape(survey.promise)),
        ("policy", policy),
        ("style", style),
        ("randomise", randomise),
        ("form", form),
        # last, since what people wrote may look like one of the places
        ("survey", json.dumps(_told(survey)).replace("<", "\\u003c")),
    ):
        page = page.replace("{{" + place + "}}", text)
    return page


def _told(survey: Survey) -> dict[str, Any]:
    """What the page must know of the survey."""
    return {
        "survey": survey.fingerprint,
        "key": f"tacit wave {survey.fingerprint}",
        "again": AGAIN,
        "questions": [_question(question) for question in survey.questions],
    }


def _question(question: Question) -> dict[str, Any]:
    return {
        "name": question.name,
        "text": question.text,
        "key": f"tacit question {fingerprint_of(question)}",
        "remember": question.remember,
        "recipe": question.recipe,
        "promise": question.promise,
        **question.shape,
    }


def _hash(text: str) -> str:
    """What a browser is told about a script or a style that it may use."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
