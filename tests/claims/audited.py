"""A real server over made-up people, and the one-run audit through its door."""

from contextlib import closing
from pathlib import Path

from instances import Instance

from tacit.audit.one_run import QUESTION, Canaries, OneRun
from tacit.client.session import connect
from tacit.ledger.ledger import wall_clock
from tacit.numeric.entropy import SystemEntropy
from tacit.server.token_policy import TokenScope
from tacit.session.project import apply_project, project_and_ledger
from tacit.store.tokens import AccessToken, Tokens

HOUR = 3_600_000
PROJECT = """\
[server]
processes = 1
seconds = 600  # a busy machine may take its time
time.kind = "open"

[engines.here]
kind = "duckdb"
path = "canaries.duckdb"

[populations.made-up]
unit = "person"
owners = ["olga"]
budget = {{ epsilon = {epsilon} }}

[datasets.canaries]
population = "made-up"
engine = "here"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1

[datasets.canaries.columns]
person = "integer"
street = {{ kind = "integer", keys = {street}, provenance = "public" }}
house = {{ kind = "integer", keys = {house}, provenance = "public" }}
"""


def audit_server(folder: Path, people: int, epsilon: int, confidence: float) -> OneRun:
    """What one answer of a real server, in a process of its own, shows of its epsilon."""
    canaries = Canaries.draw(people, SystemEntropy(b"a one-run audit"))
    folder.mkdir()
    canaries.write(folder / "canaries.duckdb")
    file = folder / "tacit.toml"
    file.write_text(PROJECT.format(epsilon=epsilon, **canaries.keys))
    apply_project(file, by="olga")
    with project_and_ledger(file) as (project, home):
        scope = TokenScope().fix(project.catalog)
        analyst = AccessToken("ann", "analyst", scope.text, wall_clock() + HOUR)
        token = Tokens(home.store).issue(analyst)
    server = Instance(file, folder / "log", environment={})
    try:
        address = f"http://127.0.0.1:{server.ready().port}"
        with closing(connect(address, token=token)) as session:
            answer = session.sql(QUESTION).ask(epsilon=epsilon)
    finally:
        server.kill()
    return canaries.guess(answer, epsilon, confidence)
