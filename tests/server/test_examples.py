"""Example questions: each works, and they say nothing about other people's tables."""

from collections.abc import Iterator
from typing import Any

import pytest
from serving import Server, make_project, serving

from tacit.server.token_policy import Role, TokenScope


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_project(tmp_path_factory.mktemp("examples"))) as running:
        yield running


def examples(server: Server, token: str, name: str) -> list[Any]:
    told = server.call("GET", f"/v1/datasets/{name}/examples", token)
    assert told.status_code == 200, told.text
    assert told.json()["dataset"] == name
    return list(told.json()["examples"])


@pytest.mark.parametrize("name", ["people", "visits", "shifts"])
def test_each_example_can_be_quoted_and_asked(server: Server, name: str) -> None:
    ann = server.token("ann")
    found = examples(server, ann, name)
    assert len(found) == 3
    assert len({each["sql"] for each in found}) == 3
    for each in found:
        assert each["sentence"].endswith(".")
        quoted = server.call("POST", "/v1/quote", ann, json={"sql": each["sql"]})
        assert quoted.status_code == 200, quoted.text
        asked = server.ask(ann, each["sql"], epsilon="0.01")
        assert asked.status_code == 200, (each["sql"], asked.text)


def test_examples_of_a_table_are_for_those_who_may_ask_it(server: Server) -> None:
    people = server.token("ann", scope=TokenScope(("people",)))
    for name in ("visits", "shifts", "ghosts"):
        told = server.call("GET", f"/v1/datasets/{name}/examples", people)
        assert told.status_code == 404, name
    oscar = server.token("oscar", Role.OWNER)
    assert examples(server, oscar, "shifts")
    assert server.call("GET", "/v1/datasets/people/examples", oscar).status_code == 404
