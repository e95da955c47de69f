"""The page of a certificate: its content in sentences and tables, for people who file it."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tacit.certify import documents as doc
from tacit.numeric import ceil_to, exact, plain

Content = Mapping[str, Any]

ORDINARY = {"late": "late", "failed": "failed", "run_twice": "run twice"}


def page_of(content: Content, key: str) -> str:
    """Return the HTML of a certificate's page, without its signature.

    Guarantee: it shows nothing that is not in ``content``.
    """
    population, release = content["population"], content["release"]
    title = f"Certificate of a private release about {population['name']}"
    body = (
        doc.heading(title, f"Charged {release['charged']}. Certified {content['made']}."),
        _summary(content),
        doc.section("What was released", doc.facts(_release(release)), _columns(release)),
        doc.section("What it may cost one person", _losses(content), _odds(content)),
        doc.section("How it was made", _events(content)),
        doc.section("What was declared", _declaration_section(content)),
        doc.section("What limits left out", doc.points(content["coverage"]) or _none()),
        doc.section("What it assumes", doc.points(content["assumptions"]) or _none()),
        doc.section("What is not protected", doc.points(content["not_protected"])),
        doc.section("Incidents and audits", _incidents(content), audits_of(content["audits"])),
        doc.section(
            "How to verify",
            doc.text(content["how_to_verify"]),
            doc.text(content["chain"]["in_words"]),
            _place(content, key),
        ),
        doc.footer(f"Tacit {content['software']['tacit']}, signed by {key}."),
    )
    return doc.page("certificate", title, "\n".join(body))


def percent(share: str | Fraction) -> str:
    """Return a share as a percentage, rounded up to a tenth.

    Example:
        >>> percent("0.760251")
        '76.1%'
    """
    shown = ceil_to(100 * exact(share), Fraction(1, 10))
    return f"{plain(min(shown, Fraction(100)))}%"


def _none() -> str:
    return doc.text("Nothing is recorded.")


def _summary(content: Content) -> str:
    unit = content["population"].get("in_words", "the unit of the population")
    loss = content["loss"]
    return doc.box(
        doc.text(
            f"This release satisfies {loss['measure']}, for {unit}: {loss['this']['text']}. "
            f"All releases about {content['population']['name']} together have used "
            f"{loss['so_far']['text']}, and may never use more than {loss['at_most']['text']}."
        )
    )


def _release(release: Content) -> dict[str, object]:
    return {
        "Receipt": release["receipt"],
        "Populations": ", ".join(release["populations"]),
        "Outcome": release["outcome"],
        "Hash of the stored answer (SHA-256)": release["sha256"],
        "Rows": release.get("rows"),
    }


def _columns(release: Content) -> str:
    rows = [
        (
            column["name"],
            "noisy" if column["noisy"] else "public or post-processed",
            "" if column["confidence"] is None else percent(column["confidence"]),
        )
        for column in release.get("columns", ())
    ]
    return doc.table(("Column", "Values", "Confidence of intervals"), rows) if rows else ""


def _losses(content: Content) -> str:
    loss = content["loss"]
    named = {
        "this": "This release",
        "so_far": "All releases so far",
        "at_most": "All releases ever (the cap)",
    }
    rows = [
        (
            said,
            f"at most {loss[name]['epsilon']}",
            loss[name]["delta"],
            loss[name]["rho"] or "does not apply",
        )
        for name, said in named.items()
    ]
    mu = loss["this"]["gdp_mu"]
    gaussian = (
        f"All noise of this release is Gaussian: it satisfies Gaussian differential privacy "
        f"with mu = {mu}."
        if mu
        else "Not all noise of this release is Gaussian, so that it has no mu."
    )
    return doc.table(("Of", "Epsilon", "Delta", "Rho"), rows) + doc.text(gaussian)


def _odds(content: Content) -> str:
    return odds_table(
        {"This release": content["odds"]["this"], "The cap": content["odds"]["at_most"]}
    ) + doc.text(content["odds"]["in_words"])


def odds_table(held: Mapping[str, Content]) -> str:
    """Return a table with the odds of several losses, side by side."""
    first = next(iter(held.values()))
    prior = percent(first["prior"])
    rate = percent(first["false_positive_rate"])
    rows = [
        (
            f"An attacker who held it {prior} likely that a person took part thinks at most",
            *(percent(each["posterior_at_most"]) for each in held.values()),
        ),
        (
            "The best attacker tells a release with a person from one without (a guess: 50%)",
            *(percent(each["auc_at_most"]) for each in held.values()),
        ),
        (
            f"Participants found by an attacker who accuses {rate} of others",
            *(percent(each["true_positive_rate_at_most"]) for each in held.values()),
        ),
    ]
    return doc.table(("Odds", *held), rows, numbers=range(1, len(held) + 1))


def _events(content: Content) -> str:
    rows = [
        (
            each["mechanism"],
            str(each["times"]),
            ", ".join(f"{name} {value}" for name, value in each["parameters"].items()),
            each["noise"],
        )
        for each in content["events"]
    ]
    idealised = any(each["noise"] != "exact" for each in content["events"])
    said = (
        "The noise marked idealised is computed with rounded real numbers, and its guarantee "
        "holds for exact ones."
        if idealised
        else "All noise has exactly the distribution of the proof, in whole numbers."
    )
    return doc.table(("Mechanism", "Times", "Parameters", "Noise"), rows) + doc.text(said)


def _declaration_section(content: Content) -> str:
    declared = content["declarations"]
    number = declared["number"]
    said = (
        f"Bounds, keys and limits, and where they come from, are in the declaration in entry "
        f"{number} of the chain. Public means known to everybody, policy means set by the "
        "owner, and estimated means measured with noise for a charge."
        if number
        else "The charge names no declaration."
    )
    return doc.text(said) + doc.points(declared["facts"])


def _incidents(content: Content) -> str:
    found = content["incidents"]
    listed = ", ".join(f"{found[name]} {said}" for name, said in ORDINARY.items())
    return doc.text(f"Answers about this population so far: {listed}.")


def audits_of(audits: Any) -> str:
    """Return a table of audits, or a sentence if there are none."""
    if not audits:
        return doc.text("No signed audit of this installation was given.")
    rows = [
        (
            each["made"],
            doc.Mark("kept" if each["kept"] else "broken", each["verdict"]),
            each["tacit"],
        )
        for each in audits
    ]
    return doc.table(("Audit", "Verdict", "Version"), rows)


def _place(content: Content, key: str) -> str:
    chain, software = content["chain"], content["software"]
    newest = {"Newest entry": f"{chain['newest_entry']}, {chain['newest_hash']}"}
    return doc.facts(
        {
            "Chain": chain["population"],
            "Entry": chain["entry"],
            "Hash of the entry": chain["hash"],
            "Hash of the entry before": chain["previous"],
            **(newest if chain["newest_entry"] else {}),
            "Software": f"Tacit {software['tacit']}, source {software['source_sha256']}",
            "Public key": key,
        }
    )
