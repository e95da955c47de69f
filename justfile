# Every recipe is one line. `just` alone lists them.

set positional-arguments

peers_dir := "benchmarks/peers"

# list the recipes
default:
    @just --list --unsorted

# format the code
format:
    uv run ruff format . && uv run ruff check --fix --exit-zero .

# format, lint, types and floors, without changing anything
check: lint types floors

# formatting, lint, spelling and the lock file
lint:
    uv lock --check && uv run ruff format --check . && uv run ruff check . && uv run codespell

# mypy --strict over src
types:
    uv run mypy

# the floors of the house, and who may import what
floors:
    uv run lint-imports

# the shape of the source tree: sizes, imports, entry points and plain English; `just house --list` names each place
house *args:
    uv run python shipping/house.py "$@"

# how long a developer waits for `just quick` and `just check`, in a clone without caches
loop-times:
    uv run python shipping/loop_times.py

# 40 docstrings and 20 error messages, drawn by a seed and printed without code, for a reader who knows none of it
strangers seed="1" *args:
    uv run python shipping/strangers.py "$@"

# the pages into site/: a warning, a link that ends nowhere or a name without an entry is an error
docs:
    uv run zensical build --clean --strict && uv run pytest -q tests/site

# a minute on two cores: lint, floors, and what runs in memory: unit tests and the examples in docstrings of six packages
quick *args:
    uv run ruff check -q . && uv run ruff format -q --check . && uv run lint-imports >/dev/null && TACIT_HYPOTHESIS_PROFILE=quick uv run pytest -q -n 2 --dist worksteal -p no:cacheprovider -p no:anyio -p no:pytest_cov tests/unit src/tacit/core src/tacit/plan src/tacit/accounting src/tacit/mechanisms src/tacit/ledger src/tacit/sql "$@"

# unit tests, contracts, the server, the walks of the pages and doctests
test *args:
    uv run pytest -n auto --dist worksteal --ignore tests/contracts/test_engines.py --ignore tests/server/test_delayed_neighbours.py tests/failures tests/server tests/end_to_end tests/models tests/contracts tests/lab tests/shipping tests/unit src "$@"

# the stages of CI whose branch coverage is measured, and what they reached
coverage:
    .ci/run install unit claims engines ledger spark coverage

# whether 97% of all branches were run, and all of accounting and of the sensitivities of plans
coverage-report *args:
    uv run coverage report "$@" && uv run coverage report "$@" --include="*/tacit/accounting/*,*/tacit/plan/bounded_plan.py" --fail-under=100

# the statistical claims at their real size, each with the lie that it rejects; `just timing` is the rest
claims *args:
    OPENBLAS_NUM_THREADS=1 uv run pytest -n auto --dist worksteal --ignore tests/claims/test_timing.py tests/claims "$@"

# the console in a real browser, over a real server; screenshots go to build/console
console *args:
    uv run pytest -n 2 --dist loadscope tests/console "$@"

# the pictures of the screens in docs/reference/console, taken again
console-pictures:
    TACIT_PICTURES=yes uv run pytest -q -n 0 tests/console/test_pictures.py

# 500 walks through the console at three tables: nothing but noise differs
campaign-console count="500":
    TACIT_CONSOLE_NEIGHBOURS={{ count }} uv run pytest -s tests/console/test_neighbours.py

# seeded bugs, each a real past one: the named test must catch it
bugs *args:
    uv run pytest -n auto tests/bugs "$@"

# the same, and all of these tests without a bug: CI runs them so in their own stages, but for generated ones
campaign-bugs *args:
    TACIT_WITHOUT_BUGS=every uv run pytest -n auto tests/bugs "$@"

# scripts that broke version 0.1.0, each with the lie that its test rejects: failures, times and numbers at their edges
edges *args:
    OPENBLAS_NUM_THREADS=1 uv run pytest tests/edges "$@"

# how many ordinary questions are understood: 50 of people, 20 of tools, 100 of four fields; -v prints each refusal
language *args:
    uv run python tests/edges/language.py "$@"

# a fit of 5,000,000 rows and of one more, where version 0.1.0 had its cap; CI's are 200,000
campaign-edges rows="5000000":
    TACIT_EDGE_ROWS={{ rows }} OPENBLAS_NUM_THREADS=1 uv run pytest tests/edges/test_rows_cap.py

# small changes of accounting, plan, mechanisms, ledger and query: 85% must fail a unit test; goes on where it stopped
mutants count="400" seed="1" *args:
    shift 2; OPENBLAS_NUM_THREADS=1 uv run python shipping/mutants.py --count {{ count }} --seed {{ seed }} "$@"

# the odds that are told for 14 losses and events: at least the exact ones, and at most 1.05 of them
odds *args:
    OPENBLAS_NUM_THREADS=1 uv run pytest -q -n 0 -s tests/claims/test_odds.py "$@"

# attacks on exact answers and on ours, and how far each came
attacks *args:
    TACIT_REPHRASINGS=1000 TACIT_TARGETS=1000 OPENBLAS_NUM_THREADS=1 uv run pytest -n auto --dist worksteal tests/claims/test_attacks_on_counts.py tests/claims/test_attacks_by_linkage.py tests/claims/test_attacks_on_members.py tests/claims/test_attack_page.py "$@"

# attacks on eleven tables with rare, common, numeric and unique secrets: verdicts agree with what was found, never green where more than chance was learned
fair-attacks *args:
    OPENBLAS_NUM_THREADS=1 uv run pytest -q -n 0 tests/claims/test_fair_attacks.py tests/unit/attacks/test_chance.py tests/models/test_repeated_fits.py "$@"

# the browser code of the console, built twice from its lock file by npm and esbuild and written; `just console-assets --check` compares with what is committed
console-assets *args:
    cd shipping/console && npm ci --silent --ignore-scripts && node build.mjs "$@"

# write anew the charts and figures of the page about attacks; read what changed before it is kept
attack-page:
    TACIT_DRAW=1 uv run pytest tests/claims/test_attack_page.py -k figures

# answers randomised at home: laws, variances and audits; 10,000 respondents, a few of them in Chromium
survey *args:
    OPENBLAS_NUM_THREADS=1 uv run pytest tests/claims/test_local.py tests/end_to_end/test_survey.py "$@"

# an officer's walk through the guides: keys, a cap, exports, documents, four lost ledgers, and the refusal of each step; Chromium's pictures of the documents are in .cache/officer
officer *args:
    TACIT_OFFICER_PICTURES=.cache/officer uv run pytest -q -n 0 tests/end_to_end/test_officer_walk.py tests/end_to_end/test_officer_guides.py tests/end_to_end/test_documents_in_browser.py "$@"

# where a registry record falls behind the registry's own schema (deployments-schema.yaml of opendp/deployments-registry-data), and what the schema refuses in records
registry-schema schema *records:
    uv run python shipping/registry_schema.py "$@"

# what one question shows of a session, a server and the mechanism (of ten times CI's people), and `tacit audit`
audit *args:
    TACIT_CANARIES=100000 OPENBLAS_NUM_THREADS=1 uv run pytest tests/claims/test_one_run.py tests/claims/test_lower_bound.py tests/unit/audit tests/contracts/test_audit_on_question.py tests/end_to_end/test_audit.py "$@"

# fits with a canary and without, as many as show something of a model at epsilon 1
audit-models fits="12000":
    TACIT_MODEL_FITS={{ fits }} OPENBLAS_NUM_THREADS=1 uv run pytest -n auto tests/claims/test_model_audit.py

# networks of JAX in an environment of their own: what they learn, lose and say of it
deep *args:
    UV_PROJECT_ENVIRONMENT=tests/deep/.venv uv run --locked --extra deep pytest tests/deep tests/claims/test_sampled_descent.py "$@"

# write anew the charts and figures of the page about robust statistics
robust-page:
    TACIT_DRAW=1 uv run pytest tests/claims/test_robust_page.py -k figures

# what every mechanism must show: law, privacy, audit, error and edges
mechanisms:
    uv run pytest -n auto tests/contracts/test_mechanisms.py tests/claims/test_mechanism_audit.py tests/claims/test_other_audits.py

# the corrections to the lectures: their formula breaks its promise, ours holds
errata:
    uv run pytest tests/claims/test_errata.py

# 10^5 random histories beside two other accountants
campaign-histories count="100000":
    TACIT_HISTORIES={{ count }} uv run pytest tests/claims/test_accounting.py -k "opendp or optimistic"

# the ledger and its stores on SQLite and PostgreSQL: unit tests, races, crashes, faults, replays and tampering
ledger *args:
    TACIT_STORES=sqlite,postgresql uv run pytest tests/ledger tests/stores tests/unit/ledger "$@"

# 64 processes for a budget of 1, 10 or 63 questions, 1,000 rounds of each on both stores
campaign-race rounds="1000":
    TACIT_RACE_ROUNDS={{ rounds }} uv run pytest tests/ledger/test_races.py

# 1,000 random histories with quotas, teams and acts of owners: groups must decide as charges do one by one
campaign-groups histories="1000":
    TACIT_GROUP_HISTORIES={{ histories }} uv run pytest tests/unit/ledger/test_group_histories.py

# 10,000 kills of a writer; goes on where it stopped
campaign-kill kills="10000" place=".campaign":
    TACIT_KILLS={{ kills }} TACIT_CAMPAIGN={{ place }} uv run pytest tests/ledger/test_crashes.py -k killed

# statements from templates of other plans, compared with printed ones: 2,000 shapes in three dialects
campaign-templates shapes="2000":
    TACIT_TEMPLATES={{ shapes }} uv run pytest tests/unit/engines/test_template_pairs.py

# streams: error beside the lower bound, neighbours, kills, publications
streams *args:
    uv run pytest tests/unit/stream tests/claims/test_streams.py tests/claims/test_stream_neighbours.py tests/claims/test_stream_bias.py tests/ledger/test_stream_kills.py tests/end_to_end/test_stream.py tests/end_to_end/test_publish.py tests/end_to_end/test_publish_postgres.py tests/engines/test_first_periods.py "$@"

# 300 kills of a stream, between and inside its steps
campaign-streams kills="300":
    TACIT_STREAM_KILLS={{ kills }} uv run pytest tests/ledger/test_stream_kills.py

# 10 faults at each stage of each kind of paid work, here and in workers; PostgreSQL stopped for 20 s
campaign-failures rounds="10":
    TACIT_FAILURES={{ rounds }} uv run pytest -n 2 tests/failures

# the cost of a step up to the 10^5th, 10^4 groups for a year; draws docs/explanation/streams.svg
bench-streams:
    uv run pytest -s benchmarks/bench_stream.py

# real servers: killed a hundred times, raced, asked about neighbours, and searched for canaries
served *args:
    uv run pytest tests/served "$@"

# two servers on one PostgreSQL are asked while owners declare and stop; CI's is 20 rounds
campaign-declarations rounds="1000":
    TACIT_DECLARATION_ROUNDS={{ rounds }} uv run pytest tests/served/test_declarations.py

# kills of two servers on one PostgreSQL, and 64 clients that race at them; CI's is 100 and 20
campaign-server kills="1000" rounds="200":
    TACIT_SERVER_KILLS={{ kills }} TACIT_SERVER_ROUNDS={{ rounds }} uv run pytest tests/served/test_killed_servers.py tests/served/test_races_over_http.py

# 2,000 requests at a server over a table, a neighbour and an empty one
campaign-neighbours requests="2000":
    TACIT_HTTP_REQUESTS={{ requests }} uv run pytest tests/served/test_neighbours_over_http.py

# two servers on one PostgreSQL under load: what Tacit adds, what it leaves, and its charges
campaign-load minutes="10":
    TACIT_LOAD_MINUTES={{ minutes }} uv run pytest -s benchmarks/bench_load.py

# where the time of the processors goes under the load of two clients and of 64
bench-processors seconds="20":
    TACIT_PROCESSOR_SECONDS={{ seconds }} uv run pytest -s -n 0 benchmarks/bench_processors.py

# ten abuses of a server, for so many seconds each: health checks, local tokens, and paid answers beside them
campaign-freeze seconds="20":
    TACIT_FREEZE_SECONDS={{ seconds }} uv run pytest -s -n 0 benchmarks/bench_freeze.py

# whether the times of delayed answers tell two neighbours apart, and of open ones
campaign-timing worst="10000" others="2000" place=".campaign-timing":
    TACIT_TIMING_WORST={{ worst }} TACIT_TIMING_OTHERS={{ others }} TACIT_CAMPAIGN={{ place }} uv run pytest -s benchmarks/bench_delay.py

# whether response times tell two neighbours apart, with public deadlines of 100 ms and without
campaign-deadlines worst="10000" others="2000" place=".campaign-deadlines":
    TACIT_TIMING_WORST={{ worst }} TACIT_TIMING_OTHERS={{ others }} TACIT_CAMPAIGN={{ place }} uv run pytest -s benchmarks/bench_timing.py

# 10^4 histories of requests sent, lost, repeated and reordered
campaign-requests count="10000":
    TACIT_REPLAYS={{ count }} uv run pytest tests/ledger/test_replays.py -k one_charge

# the price of a charge beside the bare database, of 64 writers at once, and after a million others
campaign-charges count="1000000":
    TACIT_CHARGES={{ count }} uv run pytest -s benchmarks/bench_ledger.py

# the same with 20,000 charges
bench-ledger:
    uv run pytest -s benchmarks/bench_ledger.py

# status, apply, start and verify after 10^4 charges and after a million; `just bench-checkpoints 100000` is quick
bench-checkpoints count="1000000":
    TACIT_CHECKPOINT_CHARGES={{ count }} uv run pytest -s -n 0 benchmarks/bench_checkpoints.py

# 10^4 generated requests to every route of the server
campaign-api count="10000":
    TACIT_API_EXAMPLES={{ count }} uv run pytest tests/server/test_fuzzed.py

# 500 written attacks and 10^5 fuzzed questions: refused or understood, and nothing else
hostile *args:
    uv run pytest -n auto tests/hostile "$@"

# 10^6 fuzzed questions
campaign-fuzz count="1000000":
    TACIT_FUZZ={{ count }} uv run pytest -n auto tests/hostile/test_fuzz.py

# nine tables, COUNT, SUM and AVG by 1, 10 and 100 groups at three epsilons: closed intervals hold the truth, open ones on their closed side; and their widths
truth draws="4000":
    TACIT_TRUTH={{ draws }} OPENBLAS_NUM_THREADS=1 uv run pytest -q tests/claims/test_truth.py tests/edges/test_truth.py tests/end_to_end/test_within.py tests/end_to_end/test_limits.py

# CUBE of three and of four columns: error compared with tables apart and with the residual planner, totals, coverage
cube runs="2000":
    TACIT_CUBES={{ runs }} OPENBLAS_NUM_THREADS=1 uv run pytest -q -n 0 -s tests/claims/test_grouping_sets.py

# what pure events cost in rho, what keys get of delta, and what budgets in Gaussian differential privacy would save
less-noise *args:
    uv run pytest -s -n 0 tests/claims/test_less_noise.py benchmarks/bench_gaussian_budgets.py "$@"

# the error at equal loss and equal bounds, beside OpenDP, Tumult's formulas and PipelineDP
bench-accuracy:
    uv run pytest -n auto --dist loadgroup benchmarks/bench_accuracy.py

# every model beside its non-private twin on 200,000 rows of 50 features, and a regression in DuckDB beside the bare sums
bench-ml:
    OPENBLAS_NUM_THREADS=1 uv run pytest -s benchmarks/bench_ml.py benchmarks/bench_twins.py

# fits replayed on 500 neighbours a model, which goes on where it stopped, and the claims about models at their full number of runs
campaign-fits fits="500" runs="40" place=".campaign-fits":
    TACIT_CAMPAIGN={{ place }} TACIT_FITS={{ fits }} TACIT_MODEL_RUNS={{ runs }} OPENBLAS_NUM_THREADS=1 uv run pytest -n auto tests/engines/test_fit_neighbours.py tests/engines/test_selection_neighbours.py tests/claims/test_models.py tests/models

# 20,000 generated fits with settings of every exponent and rows at their edges; goes on where it stopped
campaign-settings count="20000" place=".campaign-settings":
    TACIT_SETTINGS={{ count }} TACIT_CAMPAIGN={{ place }} OPENBLAS_NUM_THREADS=1 uv run pytest tests/claims/test_campaign_settings.py

# what it costs that DuckDB's plans do not depend on the data, beside the time of version 0.1.0; and that they do not
bench-plans rows="1e6":
    TACIT_ROWS={{ rows }} uv run pytest -n 0 benchmarks/bench_plans.py tests/engines/test_plans.py

# seconds and bytes of a validated copy, beside a question without it; `just bench-copies 1e5 duckdb` is quick
bench-copies rows="1e6,1e7" engines="duckdb,postgres,spark":
    TACIT_ROWS={{ rows }} TACIT_ENGINES={{ engines }} uv run pytest -s -n 0 benchmarks/bench_copies.py

# a private answer beside the bare engine and OpenDP on 10^7 rows; from text to price; 10^6 groups
bench-query:
    uv run pytest -s benchmarks/bench_engines.py benchmarks/bench_query.py

# how answers grow from 10^6 to 10^8 rows on DuckDB, and with 10^5 groups; draws docs/explanation/growth.svg
bench-scale:
    uv run pytest -s benchmarks/bench_scale.py

# how long a person waits: the command from cold, and a count in an open session beside bare DuckDB
bench-session:
    uv run pytest -s benchmarks/bench_session.py

# every engine keeps its contract and gives the integers of the reference, and neighbours show in nothing but noise
engines *args:
    uv run pytest -n auto --dist loadgroup tests/engines tests/contracts/test_engines.py "$@"

# 2,000 neighbours of generated people in generated tables, and the lies that they catch
replays *args:
    uv run pytest -n auto --dist worksteal tests/engines/test_neighbours.py "$@"

# the contract of an engine and the meaning of its questions on the oldest DuckDB that we support
engines-oldest *args:
    TACIT_ENGINES=duckdb uv run --with "duckdb>=1.5,<2" python -m pytest -n 2 tests/contracts/test_engines.py tests/engines/test_meaning.py tests/engines/test_written.py tests/engines/test_duckdb_types.py -k "not spark and not postgres" "$@"

# all tests of engines on that DuckDB, but for the lies, which are ours and not an engine's
campaign-oldest *args:
    TACIT_ENGINES=duckdb TACIT_ON_DUCKDB=2 uv run --with "duckdb>=1.5,<2" python -m pytest -n auto --dist worksteal tests/engines -k "not spark and not postgres and not was_read and not caught" "$@"

# the contract of an engine: all of its questions on every engine, where CI asks Spark one of eight
contract *args:
    TACIT_CONTRACT_ON_SPARK=1 uv run pytest tests/contracts/test_engines.py "$@"

# write anew the pinned surfaces, and the statements of engines that are not run yet; read what changed before it is kept
golden:
    TACIT_GOLDEN=1 uv run pytest tests/engines/test_dialects.py tests/contracts/test_surface.py tests/contracts/test_stored_surface.py -k "was_read or was_pinned"

# record and replay on 10^5 generated triples of tables, neighbours and questions; goes on where it stopped
campaign-replay count="100000" place=".campaign":
    TACIT_TRIPLES={{ count }} TACIT_CAMPAIGN={{ place }} uv run pytest -n auto -s tests/engines/test_neighbours.py -k nothing_but_noise

# the same on 10^4 triples, all of them on PostgreSQL and every fifth on Spark; goes on where it stopped
campaign-replay-engines count="10000" place=".campaign-engines":
    TACIT_ON_POSTGRESQL=1 TACIT_ON_SPARK=5 TACIT_TRIPLES={{ count }} TACIT_CAMPAIGN={{ place }} uv run pytest -n auto -s tests/engines/test_neighbours.py -k nothing_but_noise

# 20,000 triples of a question and two neighbours over hostile storage, shared by DuckDB, Parquet and PostgreSQL, and 1,000 on Spark; goes on where it stopped
campaign-storage count="20000" spark="1000" place=".campaign-storage":
    TACIT_HOSTILE_STORES={{ count }} TACIT_HOSTILE_STORES_ON_SPARK={{ spark }} TACIT_CAMPAIGN={{ place }} uv run pytest -n auto --dist worksteal -s tests/engines/test_storage.py

# Spark on a master and two workers of its own; one is killed at work
cluster *args:
    uv run pytest tests/cluster "$@"

# one of these triples, by its number: what it is, and what comes of it
replay number:
    TACIT_TRIPLE={{ number }} uv run pytest -s tests/engines/test_neighbours.py -k by_its_number

# models on rows beside diffprivlib's at the same loss and relation; `just peers` builds its environment
bench-row-models:
    OPENBLAS_NUM_THREADS=1 uv run pytest -n auto benchmarks/bench_row_models.py

# what models explain by rows and epsilon, from real fits; draws docs/tutorials/models.svg
bench-curves:
    OPENBLAS_NUM_THREADS=1 uv run pytest -s benchmarks/bench_model_curves.py

# 2,000 fits of Huber's regression a setting, by both solvers: how often each coefficient's interval holds it
campaign-coverage runs="2000":
    TACIT_COVERAGE={{ runs }} OPENBLAS_NUM_THREADS=1 uv run pytest -n auto tests/claims/test_huber_coverage.py

# build the locked environments of the systems that we measure against
peers:
    for peer in {{ peers_dir }}/*/; do uv sync --quiet --locked --project "$peer" || exit 1; done

# the exact law of every sampler at 10^6 draws, and OpenDP as the oracle
law:
    uv run pytest tests/claims/test_law.py tests/claims/test_enumeration.py tests/claims/test_oracle.py

# outputs that only one of two neighbours can give: found for floating-point noise, none for ours
float-attack:
    uv run pytest tests/claims/test_float_attack.py

# 1,000 forked workers and 64 threads share no draw
freshness:
    uv run pytest tests/claims/test_freshness.py

# whether the time of a draw tells its size
timing *args:
    uv run pytest tests/claims/test_timing.py tests/server/test_delayed_neighbours.py "$@"

# ns per draw beside OpenDP and numpy, in one run
bench-noise:
    uv run pytest -s benchmarks/bench_noise.py

# from an install of the built wheel to a first noisy table
bench-first-minute:
    uv run pytest -s benchmarks/bench_first_minute.py

# from a text to its quote beside version 0.1.0's, for the questions that it understood
bench-language:
    uv run pytest -s benchmarks/bench_language.py

# the demo and the README's first answer beside version 0.1.0's, in turns
bench-demo:
    uv run pytest -s benchmarks/bench_demo.py

# NOTICE: the packages that Tacit needs or can use, and their licences
notice:
    uv run --isolated --locked --no-dev --all-extras python shipping/notice.py > .notice && mv .notice NOTICE

# sdist, wheel, SBOM and NOTICE into dist/; the wheel is looked through and tried in a new environment
release: notice
    rm -rf dist && SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) uv build --quiet && uv export --quiet --locked --no-dev --all-extras --format cyclonedx1.5 --output-file dist/tacit.cdx.json >/dev/null && cp NOTICE dist && uv run pytest tests/release

# what CI runs, from the start, or some of its stages: `just ci edges docs`
ci *stages:
    bash .ci/run "$@"

# the same at the sizes that the tests have by themselves, which are larger than CI's
ci-full *stages:
    TACIT_SIZES=full bash .ci/run "$@"
