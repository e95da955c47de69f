"""Errors are sent in one form, whatever was in the names that a caller sent."""

import json

from tacit.server.refusal import Refusal, Told


def test_a_name_that_is_no_text_is_written_as_an_escape() -> None:
    told = Told(code="invalid_value", message="There is no setting '\ud800', \u03b5.")
    response = Refusal(422, told, {"Retry-After": "1"}).response()
    assert json.loads(bytes(response.body))["error"]["message"] == told.message
    assert "\u03b5".encode() in bytes(response.body)
    assert (response.status_code, response.headers["retry-after"]) == (422, "1")
    assert response.headers["content-type"] == "application/json"
