"""The path of a question: its price, its run after the charge, and its margin of error.

`price` computes the price of a question from public facts. After the charge is durable,
`run_below` runs the question: it asks the engine, draws noise, and stores the release. All code
that reads data after a charge runs through `run_below`, in this process or in a confined worker
process. The modules about intervals compute the margin of error of released values, and
`post_processing` applies the analyst's expressions to them.
"""

from tacit.query.below_charge import (
    ENCODE,
    FAILED,
    LATE,
    Keep,
    PaidWork,
    Progress,
    Tell,
    Trouble,
    Withdrawn,
    attempt,
    nobody,
    run_below,
)
from tacit.query.free_question import FreeAnswer, FreePreview, FreeQuestion
from tacit.query.intervals import (
    CONFIDENCE,
    MOST_ROWS,
    MOST_SIZES,
    SIZES,
    Expected,
    check_sizes,
    expected_errors,
    worst_error,
)
from tacit.query.open_ends import coverage, open_column, refresh
from tacit.query.paid_work import (
    Data,
    QuoteWork,
    drive,
    fit_parameters,
    release,
    released_by,
    run,
)
from tacit.query.post_processing import post_process
from tacit.query.priced_time import PricedTime, check_delay, least_delayed, price_time
from tacit.query.pricing import Advice, advice_on, losses, price, reprice, variance
from tacit.query.quote import (
    Fit,
    FitPreview,
    FitQuote,
    PricedTally,
    Quote,
    delta_for_each,
    price_fit,
    time_in,
)
from tacit.query.rehearsal import check_size, rehearse, rehearse_step, table_times
from tacit.query.sums_of_groups import FinerQuestion, finer_questions, sum_groups
from tacit.query.worker import Allowed, Worker, read_question, work_of
from tacit.query.worker_pool import Pool, TimeWatch, TimeWatches
from tacit.query.worker_sandbox import Confinement, make_undumpable

__all__ = [
    "CONFIDENCE",
    "ENCODE",
    "FAILED",
    "LATE",
    "MOST_ROWS",
    "MOST_SIZES",
    "SIZES",
    "Advice",
    "Allowed",
    "Confinement",
    "Data",
    "Expected",
    "FinerQuestion",
    "Fit",
    "FitPreview",
    "FitQuote",
    "FreeAnswer",
    "FreePreview",
    "FreeQuestion",
    "Keep",
    "PaidWork",
    "Pool",
    "PricedTally",
    "PricedTime",
    "Progress",
    "Quote",
    "QuoteWork",
    "Tell",
    "TimeWatch",
    "TimeWatches",
    "Trouble",
    "Withdrawn",
    "Worker",
    "advice_on",
    "attempt",
    "check_delay",
    "check_size",
    "check_sizes",
    "coverage",
    "delta_for_each",
    "drive",
    "expected_errors",
    "finer_questions",
    "fit_parameters",
    "least_delayed",
    "losses",
    "make_undumpable",
    "nobody",
    "open_column",
    "post_process",
    "price",
    "price_fit",
    "price_time",
    "read_question",
    "refresh",
    "rehearse",
    "rehearse_step",
    "release",
    "released_by",
    "reprice",
    "run",
    "run_below",
    "sum_groups",
    "table_times",
    "time_in",
    "variance",
    "work_of",
    "worst_error",
]
