"""Documents for people who answer for privacy: certificates, registry records and reports.

They are written from the ledger, signed by the installation, and verified offline. A
`Certificate` is about one release, `record_of` fills the record of a public registry, and
`report_page` is the report about a population for a board or a data-protection officer.
"""

from tacit.certify.certificate import Certificate, certificate_of, issue, verify_certificate
from tacit.certify.hazards import AnchorCheck
from tacit.certify.population_facts import PopulationFacts, newest_assumptions, read_population
from tacit.certify.registry import SECTORS, Stated, check_record, record_of, yaml_of
from tacit.certify.report import Given, report_page
from tacit.certify.signed_files import AUDIT, CERTIFICATE, SignedPage, Statement

__all__ = [
    "AUDIT",
    "CERTIFICATE",
    "SECTORS",
    "AnchorCheck",
    "Certificate",
    "Given",
    "PopulationFacts",
    "SignedPage",
    "Stated",
    "Statement",
    "certificate_of",
    "check_record",
    "issue",
    "newest_assumptions",
    "read_population",
    "record_of",
    "report_page",
    "verify_certificate",
    "yaml_of",
]
