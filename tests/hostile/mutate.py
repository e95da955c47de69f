"""Strings near the language, each made from its number alone."""

import re

from tacit.audit.synthetic_people import Choices

QUESTIONS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT COUNT(DISTINCT person), AVG(pay) FROM visits WHERE age > 30",
    "SELECT SUM(2 * age - 0.5) AS s FROM visits WHERE NOT smoker OR pay IS NULL",
    "SELECT FLOOR(age / 10) * 10 AS a, COUNT(*) FROM visits GROUP BY a ORDER BY a LIMIT 3",
    "SELECT CASE WHEN age < 18 THEN 'c' ELSE 'a' END AS w, SUM(cost) FROM visits GROUP BY w",
    "SELECT ward, SUM(age) / COUNT(*) AS m FROM visits GROUP BY ward HAVING m > 3",
    "SELECT MEDIAN(age), MAX(pay), QUANTILE(age, 0.9) FROM visits WHERE ward IN ('it''s', '')",
    "SELECT VAR_SAMP(age), STDDEV_POP(pay) FROM visits WHERE day >= DATE '2020-02-29'",
    "SELECT COUNT(age) FROM visits v WHERE v.age BETWEEN 1 AND -5 AND (v.cost <> 9.99)",
    "WITH t AS (SELECT age AS a, ward FROM visits WHERE smoker) SELECT SUM(a) FROM t",
    "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE pay = 1e2) AS q WHERE q.age = 3",
    "SELECT DATE_TRUNC('month', until) k, COUNT(*) FROM visits WHERE DAY(day) < 3 GROUP BY k",
    "SELECT SUM(EXTRACT(DOW FROM day)), AVG(until - DATE '2020-02-29') FROM visits",
    "SELECT COUNT(*) FROM visits WHERE ward LIKE 'n%' AND NOT ward NOT LIKE '%_h' OR age = 1",
    "SELECT CASE age WHEN 1 THEN 2 END AS k, COUNT(*) FROM visits GROUP BY k",
    "SELECT AVG(n) FROM (SELECT person, SUM(age) AS n FROM visits GROUP BY person) WHERE n > 0",
    "SELECT side, AVG(rate) FROM visits v LEFT JOIN places p ON v.ward = p.named GROUP BY side",
    """WITH t AS (SELECT person, ward, MAX(age) AS m, COUNT(*) AS n FROM visits WHERE pay > 1
    GROUP BY person, ward HAVING n > 1) SELECT ward, AVG(m), COUNT(n) FROM t GROUP BY ward""",
    "SELECT ward, SUM(COUNT(*)) OVER (ORDER BY ward ROWS 2 PRECEDING) FROM visits GROUP BY 1",
    (
        "SELECT ward, n, RANK() OVER (ORDER BY n DESC) FROM (SELECT ward, COUNT(*) AS n,"
        " SUM(age) AS s FROM visits GROUP BY ward) WHERE n > 3 ORDER BY n NULLS LAST LIMIT 2"
    ),
    (
        "WITH t AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n"
        " - LAG(n) OVER (PARTITION BY ward ORDER BY n), n / NULLIF(SUM(n) OVER (), 0) FROM t"
    ),
    "SELECT ward, smoker, COUNT(*), SUM(age) FROM visits GROUP BY ROLLUP (ward, smoker)",
    "SELECT ward, smoker, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward, smoker), ())",
    (
        "SELECT ward, COUNT(*) FROM visits WHERE age > 3 GROUP BY ward UNION ALL SELECT ward,"
        " COUNT(*) FROM visits WHERE NOT smoker GROUP BY ward ORDER BY 2 LIMIT 5"
    ),
    (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person ="
        " v.person AND w.age > 3) AND person NOT IN (SELECT person FROM visits WHERE smoker)"
    ),
    (
        "SELECT COUNT(DISTINCT ward), COUNT(DISTINCT CASE WHEN age > 3 THEN person END)"
        " FROM visits"
    ),
    "SELECT CORR(age, pay), COVAR_POP(age, cost), REGR_SLOPE(pay, age) FROM visits",
    "SELECT SUM(age) FILTER (WHERE smoker), COUNT_IF(age > 3), MIN(until) FROM visits",
    "SELECT AVG(SQRT(ABS(pay)) + LN(age + 1) - EXP(pay / 100)) FROM visits WHERE age::INT > 3",
    (
        "SELECT SUM(COALESCE(ROUND(pay, 1), NULLIF(age, 3), CEIL(cost / 4), POWER(age, 2)))"
        " FROM visits"
    ),
    (
        "SELECT UPPER(SUBSTR(ward, 1, 1)) AS w, COUNT(*) FROM visits WHERE ward ILIKE 'N%'"
        " GROUP BY w"
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE until + INTERVAL '30' DAY > '2020-02-29' AND"
        " DATE_DIFF('day', day, until) < 30 AND EXTRACT(QUARTER FROM until) = 2"
    ),
    (
        "SELECT GREATEST(age, 3) AS k, COUNT(1) FROM main.visits JOIN places ON ward = named"
        " AND rate > 3 GROUP BY k HAVING COUNT(1) > 2"
    ),
)
"""What is changed; each is a question that is understood."""


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


TABLES = words("visits v t q other places p")
NAMES = words(
    """person ward age pay cost smoker day until doctor room a n m k v.age "age" visits.pay
    side rate named number p.named"""
)
NUMBERS = words(
    """0 1 2 3 10 17 100 0.5 0.25 .5 5. 1e3 1e-9 1e400 007 1_000 9.990
    9223372036854775807 9223372036854775808 0.1234567890123456789012345678901"""
)
TEXTS = (*words("'north' '' 'it''s' 'a\\' 'NULL' 'é😀' '--' '/*' ';'"), "' x '", "'\n'")
ADDING = words("+ - * /")
COMPARING = words("= <> < <= > >=")
JOINING = words("AND OR")
FUNCTIONS = words(
    """COUNT SUM AVG MIN MAX MEDIAN VARIANCE VAR_POP VAR_SAMP STDDEV STDDEV_POP STDDEV_SAMP
    sum Avg mean quantile QUANTILE FLOOR YEAR MONTH DAY DAYOFWEEK ABS ROUND CEIL LN EXP SQRT
    POWER COALESCE NULLIF UPPER LOWER SUBSTR TRIM GREATEST LEAST COUNT_IF CORR RANK LAG LEAD
    ROW_NUMBER DATE_DIFF"""
)
ALIKE = (TABLES, NAMES, NUMBERS, TEXTS, ADDING, COMPARING, JOINING, FUNCTIONS)
"""Words that can stand where another of them stands."""

PARTS = (
    *("(age + 1)", "COUNT(*)", "SUM(age)", "(pay > 0.5)", "age IS NULL", "ward = 'north'"),
    *("CASE WHEN smoker THEN age ELSE 0 END", "CASE ward WHEN '' THEN 1 END", "NULL", "TRUE"),
    *("FLOOR(age / 10) * 10", "FLOOR(pay / 5) * 5", "DATE '2020-02-29'", "-age", "(-1)"),
    *("NOT smoker", "age IN (1, 2)", "age NOT IN (3)", "pay BETWEEN 0 AND age", "-(2 - age)"),
    *("COUNT(DISTINCT person)", "AVG(pay)", "QUANTILE(age, 0.25)", "MAX(cost) - MIN(cost)"),
    *("PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY age DESC)", "age - (age - 1)", "1 / 0"),
    *("MONTH(day)", "EXTRACT(YEAR FROM until)", "DATE_TRUNC('week', day)", "until - day"),
    *("ward LIKE '%o%'", "ward NOT LIKE '_'", "DATE_TRUNC('year', until)"),
    *("SUM(COUNT(*)) OVER ()", "RANK() OVER (ORDER BY COUNT(*))", "LN(age)", "SQRT(pay - 5)"),
    *("COALESCE(pay, 0)", "until - INTERVAL 1 YEAR", "CURRENT_DATE", "POWER(age, 0.5)"),
    *("EXISTS (SELECT 1 FROM visits)", "person IN (SELECT person FROM visits)", "age % 7"),
    *("COUNT(DISTINCT ward)", "UPPER(ward)", "CAST(pay AS DECIMAL(9, 2))", "'2020-02-30'"),
)
"""What can stand where a value stands."""

WORDS = (
    *words(
        """SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT WITH AS JOIN ON AND OR NOT IN IS
        NULL TRUE FALSE CASE WHEN THEN ELSE END BETWEEN LIKE DISTINCT ALL UNION EXCEPT
        DESC ASC OVER PARTITION FILTER USING CROSS LEFT LATERAL OFFSET QUALIFY ROLLUP
        CAST TRY_CAST EXISTS VALUES INTERVAL DATE EXCLUDE REPLACE COLUMNS ANY WITHIN
        random now read_csv error strptime struct_pack unnest getenv query_table other
        ( ) ( ) , . * ; : :: || ? $1 @x # -- /* */ [ ] { } -> % ^ ~ & | ! != == <=> //
        E'\\n' $$x$$ X'00' 'x'::DATE `age` [age] "" 0x1F ILIKE GLOB COLLATE NULLS"""
    ),
    *(word for alike in ALIKE for word in alike),
    *PARTS,
)
ODD = (
    "'\"`\\;()*,.-/ \n\t\r_$@#:?[]{}<>=!|&^~%0e9\0\x1a\ufeff\u200b\u2028\u00a0"
    "\u0430\u0435\uff33\uff05\ufb00\u0130\u0131\u00b2\u0663\u00e9\U0001f600\ud800\U000e0041"
)
TOKEN = re.compile(r"\s+|'(?:[^']|'')*'|[\w.]+|[<>=!|:]+|.", re.DOTALL)


def string(number: int) -> str:
    """The string of that number: mostly changed questions, and some noise."""
    choices = Choices(f"tacit fuzz {number}")
    question = choices.one(QUESTIONS)
    way = choices.below(20)
    if way == 0:
        return "".join(chr(choices.below(0x3000)) for _ in range(choices.below(60)))
    if way == 1:
        return " ".join(choices.one(WORDS) for _ in range(choices.below(30)))
    if way < 4:
        return _characters(question, choices)
    if way < 7:
        return _tokens(question, choices)
    return _alike(question, choices)


def _alike(question: str, choices: Choices) -> str:
    """Words changed to others of their kind, or to whole expressions."""
    tokens: list[str] = TOKEN.findall(question)
    places = [place for place, token in enumerate(tokens) if _kind(token) is not None]
    for _ in range(1 + choices.below(3)):
        place = places[choices.below(len(places))]
        kind = _kind(tokens[place]) or PARTS
        value = kind in (NAMES, NUMBERS, TEXTS)
        tokens[place] = choices.one(PARTS if value and choices.below(3) == 0 else kind)
    return "".join(tokens)


def _kind(token: str) -> tuple[str, ...] | None:
    return next((words for words in ALIKE if token in words), None)


def _tokens(question: str, choices: Choices) -> str:
    """Words put in, left out, repeated or taken from another question."""
    tokens: list[str] = TOKEN.findall(question)
    for _ in range(1 + choices.below(4)):
        place, what = choices.below(len(tokens)), choices.below(8)
        if what < 3:
            tokens[place] = choices.one(WORDS)
        elif what < 5:
            tokens[place:place] = [" ", choices.one(WORDS), " "]
        elif what == 5:
            tokens[place : place + 1 + choices.below(3)] = []
        elif what == 6:
            tokens[place:place] = tokens[place : place + 1 + choices.below(9)]
        else:
            other: list[str] = TOKEN.findall(choices.one(QUESTIONS))
            start = choices.below(len(other))
            tokens[place : place + 1] = other[start : start + 1 + choices.below(9)]
        tokens = tokens or [" "]
    return "".join(tokens)


def _characters(question: str, choices: Choices) -> str:
    text = question
    for _ in range(1 + choices.below(3)):
        place, what = choices.below(len(text) + 1), choices.below(3)
        odd = choices.one(ODD)
        text = text[:place] + ("" if what == 0 else odd) + text[place + (what != 1) :]
    return text
