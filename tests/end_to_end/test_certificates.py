"""Certificates, reports and registry records of the demo: written, verified and refused."""

import json
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from site_of_clients import QUESTION, Site, made_site
from test_publish import opened, publication

import tacit
from tacit.certify import (
    Certificate,
    SignedPage,
    Statement,
    check_record,
    read_population,
    verify_certificate,
)
from tacit.certify.certificate import digest_of
from tacit.certify.registry import FIELDS, yaml_of
from tacit.cli.main import main
from tacit.errors import InvalidValue, UnknownName
from tacit.ml.linear_regression import LinearRegression
from tacit.publish.publication import Publications
from tacit.session import installation_key, project_and_ledger
from tacit.session.project import open_project
from tacit.store import SigningKey

COUNT = "SELECT COUNT(*) AS n FROM patients"
WARDS = "SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward"


def run(*command: str) -> Result:
    return CliRunner().invoke(main, command, catch_exceptions=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    run("demo", "--folder", str(folder), "--as", "olga")
    return folder / "tacit.toml"


@pytest.fixture(scope="module")
def certificate(project: Path) -> Certificate:
    with open_project(project, principal="ann") as session:
        made: Certificate = session.sql(WARDS).ask(epsilon="0.1").certificate()
    return made


def test_an_answer_has_a_certificate_of_its_charge(project: Path) -> None:
    with open_project(project, principal="ann") as session:
        answer = session.sql(COUNT).ask(epsilon="0.2")
        before = session.status().spent
        made = answer.certificate()
        assert session.status().spent == before  # it is free
        assert session.certificate(answer).content["chain"] == made.content["chain"]
        assert session.certificate(answer.receipt.hex()).content["loss"] == made.content["loss"]
    content = made.content
    assert content["release"]["receipt"] == answer.receipt.hex()
    assert content["release"]["rows"] == 1
    assert (
        content["population"]["in_words"]
        == "adding or removing one person, with all their rows"
    )
    assert content["loss"]["this"]["text"].startswith("epsilon 0.2 ")
    assert content["loss"]["at_most"]["epsilon"] == "3"
    assert float(content["loss"]["this"]["gdp_mu"]) > 0  # all noise is Gaussian
    assert [each["noise"] for each in content["events"]] == ["exact"]
    assert "visits: at most 3 groups of 11 rows" in content["declarations"]["facts"]
    assert "patients.city: text, one of 'Bern', 'Ulm', 'Graz' (public)" in made.page.replace(
        "&#x27;", "'"
    )
    assert "ann" not in json.dumps(content["release"])
    assert answer.certificate().content["release"]["sha256"] == content["release"]["sha256"]


def test_the_hash_of_a_certificate_is_that_of_the_stored_answer(project: Path) -> None:
    with open_project(project, principal="ann") as session:
        answer = session.sql(COUNT).ask(epsilon="0.2")
        told = session.certificate(answer).content["release"]["sha256"]
        body = session.ledger.stored_body(answer.release_key) or b""
    from tacit.core import decode_release  # noqa: PLC0415

    assert digest_of(decode_release(body)) == told


def test_a_certificate_is_verified_offline(
    project: Path, certificate: Certificate, tmp_path: Path
) -> None:
    key = Statement.of(certificate.text).key
    for name in ("c.json", "c.html"):
        file = certificate.save(tmp_path / name)
        done = run("verify", str(file), "--key", key)
        assert done.exit_code == 0, done.output
        assert "unchanged" in done.output
        assert "the key that you gave" in done.output
        refused = run("verify", str(file), "--key", "00" * 32)
        assert refused.exit_code == 1
        assert "not by the key that you gave" in refused.output
    with project_and_ledger(project) as (_, home):
        assert installation_key(home).public.hex() == key


@pytest.mark.parametrize("kind", ["text", "page"])
def test_one_changed_byte_is_refused(certificate: Certificate, kind: str) -> None:
    whole = getattr(certificate, kind).encode()
    read = verify_certificate if kind == "text" else SignedPage.of
    assert read(whole.decode())
    for at in range(0, len(whole), 53):
        changed = bytearray(whole)
        changed[at] ^= 1
        with pytest.raises((InvalidValue, UnicodeDecodeError)):
            read(bytes(changed).decode())


def test_a_charge_that_is_made_up_is_refused(certificate: Certificate) -> None:
    """The holder of the key signs a cheaper charge: its hash does not follow."""
    content, key = certificate.content, SigningKey(bytes(32))
    chain = content["chain"] | {"text": content["chain"]["text"].replace("charged", "free")}
    for forged in (content | {"chain": chain}, content | {"chain": {}}):
        with pytest.raises(InvalidValue, match=r"chain|hash of the charge"):
            verify_certificate(Statement.sign("tacit certificate", forged, key))
    with pytest.raises(InvalidValue, match="is a report, and not a certificate"):
        verify_certificate(Statement.sign("tacit report", content, key))


def test_the_command_writes_what_the_answer_says(project: Path, tmp_path: Path) -> None:
    with open_project(project, principal="ann") as session:
        receipt = session.sql(COUNT).ask(epsilon="0.2").receipt.hex()
    at = ("--project", str(project))
    printed = run("certificate", receipt, *at)
    assert verify_certificate(printed.output).content["release"]["receipt"] == receipt
    file = tmp_path / "c.html"
    assert run("certificate", receipt, *at, "--out", str(file)).exit_code == 0
    assert SignedPage.of(file.read_text(encoding="utf-8")).kind == "certificate"
    for wrong, said in (("00" * 32, "no charge with the receipt"), ("x", "not a receipt")):
        refused = run("certificate", wrong, *at)
        assert refused.exit_code == 1
        assert said in refused.output
    assert "Give the receipt" in run("certificate", *at).output


def test_the_first_digits_of_a_receipt_are_enough_on_the_command_line(project: Path) -> None:
    with open_project(project, principal="ann") as session:
        receipt = session.sql(COUNT).ask(epsilon="0.2").receipt.hex()
    at = ("--project", str(project))
    shown = run("ledger", "show", "patients", "--receipt", receipt[:8], *at).output
    (digits,) = [line.split()[-1] for line in shown.splitlines() if "answered" in line]
    assert receipt.startswith(digits)
    printed = run("certificate", digits, *at)  # as the table prints them
    chain = verify_certificate(printed.output).content["chain"]
    assert chain["hash"] == receipt
    assert f"in entry {chain['entry']} of the chain of patients" in chain["in_words"]
    assert "priced by the declaration in entry" in chain["in_words"]
    for wrong, said in ((receipt[:7], "or its first 8 or more"), ("0" * 8, "begins with 00")):
        refused = run("certificate", wrong, *at)
        assert refused.exit_code == 1
        assert said in refused.output
        assert receipt not in refused.output


def test_models_and_publications_have_certificates(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        made = publication()
        Publications(session.states).declare(made, session)
        stream = Publications(session.states).open(made.name, session)
        content = session.certificate(stream.start().hex()).content
        assert content["loss"]["this"]["rho"] == "0.5"
        assert content["release"]["outcome"] == "answered"
        step = stream.release(0)
        assert session.certificate(step).content["release"]["receipt"] == step.receipt.hex()
    with open_project_of_numbers(tmp_path / "models") as session:
        model = session.fit(LinearRegression(epsilon=1.0), "rows", features=["x"], target="y")
        told = model.release_.certificate().content
        assert told["release"]["receipt"] == model.release_.receipt.hex()
        assert told["events"]


def open_project_of_numbers(folder: Path) -> tacit.Session:
    import pandas as pd  # noqa: PLC0415

    rows = pd.DataFrame(
        {"who": range(500), "x": [n % 7 for n in range(500)], "y": [n % 5 for n in range(500)]}
    )
    return tacit.open(
        rows,
        population="people",
        unit="who",
        bounds={"x": (0, 7), "y": (0, 5)},
        max_groups=1,
        max_rows=1,
        budget=(9, "1e-6"),
        table="rows",
        folder=folder / ".tacit",
    )


def test_what_cost_nothing_has_no_certificate(project: Path) -> None:
    with open_project(project) as session:
        free = session.sql("SELECT 1 AS one").ask()
        with pytest.raises(InvalidValue, match="no certificate"):
            free.certificate()
        with pytest.raises(UnknownName, match="no charge with the receipt"):
            session.certificate("00" * 32)


# ------------------------------------------------------------------ over HTTP


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with made_site(tmp_path_factory.mktemp("site")) as made:
        yield made


def test_a_server_gives_the_certificate_to_those_who_may_read_the_release(site: Site) -> None:
    with tacit.connect(site.url, token=site.token) as session:
        answer = session.sql(QUESTION).ask(epsilon="0.5")
        made = answer.certificate()
        assert made.content["release"]["receipt"] == answer.receipt.hex()
        assert SignedPage.of(made.page).kind == "certificate"
        assert SignedPage.of(made.page).key == Statement.of(made.text).key
        assert session.certificate(answer).content["chain"] == made.content["chain"]
        unknown = f"/v1/releases/{'00' * 32}/certificate"
        with pytest.raises(UnknownName):
            session._wire.text(unknown, "application/json")


# ------------------------------------------------------------------ registry and report


def test_the_registry_record_of_the_demo_is_complete(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "record.yaml"
    stated = ("--sector", "Healthcare", "--curator", "A clinic", "--use", "Planning of wards")
    done = run(
        "registry", "patients", "--project", str(project), *stated, "--region", "Switzerland",
        "--author", "An officer", "--name", "Ward statistics", "--sources", "The wiki",
        "--out", str(out),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    record = yaml.safe_load(out.read_text(encoding="utf-8"))
    check_record(record)
    assert set(flat(record)) == set(FIELDS)  # every field of every tier is filled
    assert record["url_slug"] == f"ward-statistics-a-clinic-{date.today().year}"  # noqa: DTZ011
    assert record["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 3
    assert record["deployment"]["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert "olga" not in out.read_text(encoding="utf-8")  # it is published
    bare = run("registry", "patients", "--project", str(project))
    assert "data_product_sector is left out" in bare.output
    check_record(yaml.safe_load(bare.output))


def flat(record: dict[str, object], above: str = "") -> list[str]:
    found = []
    for name, value in record.items():
        inside = flat(value, f"{above}{name}.") if isinstance(value, dict) else [above + name]
        found += inside
    return found


def test_a_pure_budget_says_why_it_has_no_rho(tmp_path: Path) -> None:
    from tacit.certify import Stated, record_of  # noqa: PLC0415

    with tacit.open(
        {"who": [1, 2, 3], "x": [1, 2, 3]}
        and __import__("pandas").DataFrame({"who": [1], "x": [1]}),
        population="people",
        unit="who",
        bounds={"x": (0, 3)},
        max_groups=1,
        max_rows=1,
        budget=tacit.core.Budget(tacit.Loss.pure(2)),
        table="rows",
        folder=tmp_path / ".tacit",
    ) as session:
        facts = read_population(session.ledger, "people")
    record = record_of(facts, Stated(sector="Finance"))
    check_record(record)
    parameters = record["deployment"]["privacy_loss"]
    assert "rho" not in parameters["privacy_parameters"]
    assert "Rho does not apply" in parameters["privacy_parameters_details"]
    assert yaml.safe_load(yaml_of(record))["tier"] == 3
    assert facts.mu is None


def test_a_report_is_one_signed_page(project: Path, tmp_path: Path) -> None:
    attack = tmp_path / "attack.json"
    finding = {"attack": "differencing", "success": 0.51, "chance": 0.5, "allowed": 0.6,
               "verdict": "no better than a guess"}  # fmt: skip
    told = [
        finding | {"system": "Tacit"},
        finding | {"system": "exact answers", "success": 0.987},
    ]
    attack.write_text(json.dumps({"subject": "2 questions", "parts": [{"findings": told}]}))
    out = tmp_path / "report.html"
    command = ("report", "patients", "--project", str(project), "--out", str(out))
    done = run(*command, "--attack", str(attack))
    assert done.exit_code == 0, done.output
    text = out.read_text(encoding="utf-8")
    page = SignedPage.of(text)
    assert page.kind == "report"
    assert page.html.count("<svg") == 6  # three pictures, each for wide and narrow screens
    assert "<script" not in page.html
    assert "http" not in page.html.replace("http-equiv", "")  # it loads nothing
    for said in ("Privacy report: patients", "olga", "differencing", "51.0%", "article 35(7)"):
        assert said in page.html
    assert "98.7%" not in page.html  # what attacks on exact data reached is not private
    assert run("verify", str(out)).exit_code == 0
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("Hazard", "hazard"), encoding="utf-8", newline="\n")
    assert "The signature does not match" in run("verify", str(changed)).output
    for wrong in ("--audit", "--attack"):
        refused = run(*command, wrong, str(tmp_path / "none"))
        assert refused.exit_code == 1


def test_an_audit_is_evidence_only_if_this_installation_signed_it(
    project: Path, tmp_path: Path
) -> None:
    report = {
        "made": "2026-01-01 00:00:00 UTC",
        "tacit": "0.2.0",
        "verdict": "Every promise was kept, in 1 check.",
        "kept": True,
    }
    stranger = project.parent / "tacit-audit-2026-01-01-000000.json"
    stranger.write_text(Statement.sign("tacit audit", report, SigningKey(bytes(32))))
    out = tmp_path / "report.html"
    command = ("report", "patients", "--project", str(project), "--out", str(out))
    try:
        assert run(*command).exit_code == 0
        assert "Every promise was kept" not in out.read_text(encoding="utf-8")
        with project_and_ledger(project) as (_, home):
            stranger.write_text(Statement.sign("tacit audit", report, installation_key(home)))
        assert run(*command).exit_code == 0
        assert "Every promise was kept" in out.read_text(encoding="utf-8")
    finally:
        stranger.unlink()


def test_the_mu_of_all_charges_is_told_while_all_noise_is_gaussian(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.sql("SELECT COUNT(*) AS n FROM visits").ask(rho="0.125")
        session.sql("SELECT COUNT(*) AS n FROM visits WHERE ward = 'north'").ask(rho="0.375")
        facts = read_population(session.ledger, "patients")
        assert facts.mu is not None
        assert Fraction(1) <= facts.mu < Fraction(21, 20)
        assert facts.asked_by.total() == 2
