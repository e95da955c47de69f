"""Ordinary questions: 50 of people and 20 of tools about a clinic, and 100 of four fields.

The 100 were written before any of them was tried: TPC-H with customers as people, a hospital,
the visitors of a site, and a population survey. Each is written as its field writes it, so that
some need constructs that Tacit refuses for good reasons.
"""

# ruff: noqa: E501 - a question is a line

from datetime import date

from tacit.core import (
    Bounds,
    Catalog,
    Column,
    Dataset,
    Epoch,
    Keys,
    Kind,
    Limits,
    Link,
    Location,
    Population,
    PrivacyUnit,
    PublicTable,
    Schema,
    UnitColumn,
)
from tacit.numeric import exact

# Declarations --------------------------------------------------------------------------------


def text(name: str, *keys: str) -> Column:
    """A text column, with declared keys if there are any."""
    return Column(name, Kind.TEXT, keys=Keys(keys) if keys else None)


def whole(name: str, low: int | None = None, high: int | None = None) -> Column:
    """An integer column, with bounds if there are any."""
    bounds = None if low is None or high is None else Bounds.of(low, high)
    return Column(name, Kind.INTEGER, bounds=bounds)


def cents(name: str, high: int) -> Column:
    """A column of amounts with two digits after the point."""
    return Column(name, Kind.DECIMAL, bounds=Bounds.of(0, high), step=exact("0.01"))


def real(name: str, low: int, high: int) -> Column:
    """A column of floats."""
    return Column(name, Kind.FLOAT, bounds=Bounds.of(low, high))


def day(name: str, first: int, last: int) -> Column:
    """A column of days of these years."""
    return Column(name, Kind.DATE, bounds=Bounds.days(date(first, 1, 1), date(last, 12, 31)))


def truth(name: str) -> Column:
    """A Boolean column."""
    return Column(name, Kind.BOOLEAN)


def private(
    name: str, unit: str | tuple[str, str, str], groups: int, rows: int, *columns: Column
) -> Dataset:
    """A private table: its unit is a column, or a link (column, parent, parent's column)."""
    return Dataset(
        name=name,
        population="people",
        schema=Schema(columns),
        unit=UnitColumn(unit) if isinstance(unit, str) else Link(*unit),
        location=Location("here", (name,)),
        limits=Limits(groups, rows),
        epoch=Epoch("1"),
    )


def public(name: str, lookup: str | None, *columns: Column) -> PublicTable:
    """A public table, with one lookup column or without any."""
    place, found = Location("here", (name,)), () if lookup is None else (lookup,)
    return PublicTable(name, Schema(columns), place, Epoch("1"), lookup=found)


def catalogue(*tables: Dataset | PublicTable) -> Catalog:
    """A catalogue of one population of people."""
    private_tables = tuple(each for each in tables if isinstance(each, Dataset))
    public_tables = tuple(each for each in tables if isinstance(each, PublicTable))
    people = Population("people", PrivacyUnit("person"))
    return Catalog((people,), private_tables, public_tables)


CLINIC = catalogue(
    private(
        "people",
        "person",
        1,
        1,
        whole("id"),
        text("person"),
        text("sex", "f", "m"),
        day("born", 1900, 2025),
    ),
    private(
        "visits",
        ("patient", "people", "id"),
        2,
        3,
        whole("patient"),
        whole("vid"),
        text("ward", "n", "s", "e"),
        text("doctor"),
        cents("cost", 100),
        day("day", 2020, 2020),
    ),
    private(
        "labs",
        ("visit", "visits", "vid"),
        2,
        2,
        whole("visit"),
        text("test"),
        real("val", -5, 10),
    ),
    private("bills", "who", 2, 2, text("who"), whole("amount", 0, 1000)),
    public("regions", None, text("ward"), text("region", "x", "y")),
)
"""The clinic of the first two lists."""

TPCH = catalogue(
    private(
        "customer",
        "c_custkey",
        1,
        1,
        whole("c_custkey"),
        text("c_name"),
        whole("c_nationkey"),
        text("c_mktsegment", "AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"),
        cents("c_acctbal", 10000),
    ),
    private(
        "orders",
        ("o_custkey", "customer", "c_custkey"),
        5,
        20,
        whole("o_orderkey"),
        whole("o_custkey"),
        text("o_orderstatus", "F", "O", "P"),
        cents("o_totalprice", 600000),
        day("o_orderdate", 1992, 1998),
        text("o_orderpriority", "1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"),
        text("o_clerk"),
        whole("o_shippriority", 0, 1),
    ),
    private(
        "lineitem",
        ("l_orderkey", "orders", "o_orderkey"),
        5,
        50,
        whole("l_orderkey"),
        whole("l_partkey"),
        whole("l_quantity", 1, 50),
        cents("l_extendedprice", 110000),
        cents("l_discount", 1),
        cents("l_tax", 1),
        text("l_returnflag", "A", "N", "R"),
        text("l_linestatus", "F", "O"),
        day("l_shipdate", 1992, 1998),
        day("l_commitdate", 1992, 1998),
        day("l_receiptdate", 1992, 1998),
        text("l_shipmode", "AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"),
        text("l_shipinstruct", "COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"),
    ),
    public(
        "nation",
        "n_nationkey",
        whole("n_nationkey"),
        text("n_name", "BRAZIL", "FRANCE", "GERMANY", "JAPAN"),
        whole("n_regionkey"),
    ),
    public(
        "part",
        "p_partkey",
        whole("p_partkey"),
        text("p_brand", "Brand#11", "Brand#12", "Brand#23"),
        text("p_type"),
        whole("p_size", 1, 50),
        text("p_container", "SM CASE", "MED BOX", "LG CASE"),
    ),
)
HOSPITAL = catalogue(
    private(
        "patients",
        "patient_id",
        1,
        1,
        text("patient_id"),
        text("gender", "F", "M", "O"),
        day("birth_date", 1910, 2025),
        text("postcode"),
        text("insurance", "public", "private", "none"),
    ),
    private(
        "admissions",
        ("patient_id", "patients", "patient_id"),
        3,
        5,
        whole("adm_id"),
        text("patient_id"),
        day("admitted", 2018, 2025),
        day("discharged", 2018, 2025),
        text("department", "cardiology", "oncology", "surgery", "er"),
        text("diagnosis"),
        cents("charges", 50000),
        truth("emergency"),
        whole("severity", 1, 5),
    ),
    private(
        "lab_results",
        ("adm_id", "admissions", "adm_id"),
        3,
        10,
        whole("adm_id"),
        text("test_code", "HBA1C", "LDL", "CREA"),
        real("value", 0, 500),
        day("taken", 2018, 2025),
    ),
    private(
        "prescriptions",
        ("adm_id", "admissions", "adm_id"),
        3,
        10,
        whole("adm_id"),
        text("drug"),
        real("dose_mg", 0, 2000),
        whole("days", 1, 90),
    ),
    public(
        "departments",
        "department",
        text("department"),
        text("building", "A", "B"),
        whole("beds", 0, 200),
    ),
)
SITE = catalogue(
    private(
        "users",
        "user_id",
        1,
        1,
        whole("user_id"),
        text("country", "DE", "FR", "US", "IN"),
        text("plan", "free", "pro", "team"),
        day("signup_date", 2022, 2025),
    ),
    private(
        "events",
        ("user_id", "users", "user_id"),
        10,
        50,
        whole("user_id"),
        text("event_name", "view", "click", "add_to_cart", "purchase"),
        text("page"),
        text("device", "desktop", "mobile", "tablet"),
        text("browser"),
        day("event_date", 2025, 2025),
        whole("duration_ms", 0, 600000),
        whole("hour", 0, 23),
    ),
    private(
        "purchases",
        ("user_id", "users", "user_id"),
        5,
        10,
        whole("user_id"),
        whole("order_id"),
        cents("revenue", 1000),
        whole("items", 1, 50),
        text("coupon"),
        day("bought_on", 2025, 2025),
        truth("refunded"),
    ),
    public(
        "countries", "country", text("country"), text("continent", "Europe", "America", "Asia")
    ),
)
SURVEY = catalogue(
    private(
        "persons",
        "person_id",
        1,
        1,
        text("person_id"),
        whole("age", 0, 110),
        text("sex", "f", "m"),
        text("education", "low", "medium", "high"),
        text("region_code", "N", "S", "E", "W"),
        text("employment", "employed", "unemployed", "inactive"),
        cents("income", 200000),
        whole("hours", 0, 80),
        real("weight", 0, 20),
        whole("household", 1, 12),
    ),
    private(
        "dwellings",
        ("person_id", "persons", "person_id"),
        2,
        2,
        text("person_id"),
        text("tenure", "own", "rent"),
        whole("rooms", 1, 15),
        cents("rent", 5000),
        whole("built", 1800, 2025),
    ),
    private(
        "trips",
        ("person_id", "persons", "person_id"),
        5,
        10,
        text("person_id"),
        text("mode", "walk", "bike", "car", "transit"),
        real("km", 0, 500),
        day("travelled", 2024, 2024),
    ),
    public(
        "regions",
        "region_code",
        text("region_code"),
        text("nuts", "NUTS1", "NUTS2"),
        whole("area", 0, 100000),
    ),
)

# Questions -----------------------------------------------------------------------------------

OF_TPCH = """SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus
SELECT l_returnflag, SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price, SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge FROM lineitem WHERE l_shipdate <= '1998-09-02' GROUP BY 1 ORDER BY 1
SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
SELECT o_orderpriority, COUNT(*) AS order_count FROM orders WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority ORDER BY o_orderpriority
SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' GROUP BY n_name ORDER BY revenue DESC
SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24
SELECT EXTRACT(YEAR FROM l_shipdate) AS l_year, SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem GROUP BY l_year ORDER BY l_year
SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, SUM(CASE WHEN n_name = 'BRAZIL' THEN o_totalprice ELSE 0 END) / SUM(o_totalprice) AS mkt_share FROM orders JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey GROUP BY o_year ORDER BY o_year
SELECT c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_returnflag = 'R' GROUP BY c_custkey, c_name ORDER BY revenue DESC LIMIT 20
SELECT l_shipmode, SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count, SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count FROM lineitem JOIN orders ON o_orderkey = l_orderkey WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate GROUP BY l_shipmode ORDER BY l_shipmode
SELECT c_count, COUNT(*) AS custdist FROM (SELECT c_custkey, COUNT(o_orderkey) AS c_count FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey GROUP BY c_custkey) AS c_orders GROUP BY c_count ORDER BY custdist DESC, c_count DESC
SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01'
SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'Brand#12' AND l_quantity >= 1 AND l_quantity <= 11 AND l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON'
SELECT c_mktsegment, COUNT(*) AS customers, AVG(c_acctbal) AS balance FROM customer GROUP BY c_mktsegment ORDER BY 2 DESC
SELECT COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal FROM customer WHERE c_acctbal > 0 AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)
SELECT c_mktsegment, COUNT(DISTINCT c_custkey) FROM customer JOIN orders ON c_custkey = o_custkey WHERE o_orderstatus = 'F' GROUP BY c_mktsegment
SELECT DATE_TRUNC('quarter', o_orderdate) AS q, SUM(o_totalprice) AS revenue, SUM(SUM(o_totalprice)) OVER (ORDER BY DATE_TRUNC('quarter', o_orderdate)) AS running FROM orders GROUP BY 1 ORDER BY 1
SELECT o_orderpriority, COUNT(*) FROM orders GROUP BY ROLLUP (o_orderpriority)
SELECT AVG(total) FROM (SELECT o_custkey, SUM(o_totalprice) AS total FROM orders JOIN customer ON o_custkey = c_custkey GROUP BY o_custkey) t
SELECT COUNT(DISTINCT o_clerk) FROM orders
SELECT l_shipmode, AVG(l_receiptdate - l_shipdate) AS days FROM lineitem GROUP BY l_shipmode ORDER BY days
SELECT l_shipmode, MEDIAN(l_quantity), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY l_extendedprice) FROM lineitem GROUP BY l_shipmode
SELECT o_orderstatus, ROUND(AVG(o_totalprice), 2) AS mean, ROUND(STDDEV(o_totalprice), 2) AS sd FROM orders GROUP BY o_orderstatus HAVING COUNT(*) > 100
SELECT l_linestatus, SUM(l_quantity) FILTER (WHERE l_returnflag = 'R') * 100.0 / NULLIF(SUM(l_quantity), 0) AS returned_pct FROM lineitem GROUP BY l_linestatus""".splitlines()
OF_HOSPITAL = """SELECT department, COUNT(*) AS admissions FROM admissions GROUP BY department ORDER BY admissions DESC
SELECT department, AVG(discharged - admitted) AS length_of_stay FROM admissions GROUP BY department
SELECT department, AVG(DATE_DIFF('day', admitted, discharged)) AS los FROM admissions GROUP BY 1
SELECT DATE_TRUNC('month', admitted) AS month, COUNT(*) AS n FROM admissions WHERE admitted >= '2024-01-01' GROUP BY month ORDER BY month
SELECT COUNT(DISTINCT patient_id) AS patients FROM admissions
SELECT gender, COUNT(*) FROM patients GROUP BY gender
SELECT CASE WHEN EXTRACT(YEAR FROM birth_date) < 1960 THEN 'old' WHEN EXTRACT(YEAR FROM birth_date) < 2000 THEN 'adult' ELSE 'young' END AS age_group, COUNT(*) FROM patients GROUP BY 1
SELECT FLOOR((2025 - EXTRACT(YEAR FROM birth_date)) / 10) * 10 AS age_band, COUNT(*) AS n FROM patients GROUP BY age_band ORDER BY age_band
SELECT a.department, p.gender, COUNT(*) AS n FROM admissions a INNER JOIN patients p ON a.patient_id = p.patient_id GROUP BY a.department, p.gender
SELECT department, SUM(CASE WHEN emergency THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS emergency_rate FROM admissions GROUP BY department
SELECT diagnosis, COUNT(*) AS n FROM admissions GROUP BY diagnosis ORDER BY n DESC LIMIT 10
SELECT test_code, AVG(value) AS mean, STDDEV(value) AS sd, MIN(value), MAX(value) FROM lab_results GROUP BY test_code
SELECT COUNT(*) FROM lab_results WHERE test_code = 'HBA1C' AND value > 6.5
SELECT department, COUNT(*) AS readmitted FROM admissions WHERE patient_id IN (SELECT patient_id FROM admissions GROUP BY patient_id HAVING COUNT(*) > 1) GROUP BY department
SELECT n, COUNT(*) AS patients FROM (SELECT patient_id, COUNT(*) AS n FROM admissions JOIN patients USING (patient_id) GROUP BY patient_id) AS per_patient GROUP BY n ORDER BY n
SELECT p.insurance, AVG(a.charges) AS mean_charges FROM admissions AS a JOIN patients AS p USING (patient_id) GROUP BY p.insurance
SELECT building, SUM(charges) FROM admissions JOIN departments USING (department) GROUP BY building
SELECT department, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM admissions GROUP BY department
SELECT EXTRACT(DOW FROM admitted) AS weekday, COUNT(*) FROM admissions WHERE emergency GROUP BY weekday ORDER BY weekday
SELECT severity, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct FROM admissions GROUP BY severity ORDER BY severity
SELECT CORR(severity, charges) FROM admissions
SELECT AVG(dose_mg / days) AS daily_dose FROM prescriptions
SELECT department, gender, COUNT(*) FROM admissions JOIN patients ON admissions.patient_id = patients.patient_id GROUP BY CUBE (department, gender)
SELECT COUNT(*) FROM patients p LEFT JOIN admissions a ON a.patient_id = p.patient_id WHERE p.insurance = 'none'
SELECT department, month, n, n - LAG(n) OVER (PARTITION BY department ORDER BY month) AS change FROM (SELECT department, DATE_TRUNC('month', admitted) AS month, COUNT(*) AS n FROM admissions WHERE admitted BETWEEN '2024-01-01' AND '2024-12-31' GROUP BY department, DATE_TRUNC('month', admitted)) AS monthly ORDER BY department, month""".splitlines()
OF_SITE = """SELECT event_date, COUNT(*) AS page_views FROM events WHERE event_name = 'view' GROUP BY event_date ORDER BY event_date
SELECT DATE_TRUNC('week', event_date) AS week, COUNT(DISTINCT user_id) AS wau FROM events GROUP BY 1 ORDER BY 1
SELECT "public"."events"."device" AS "device", COUNT(*) AS "count" FROM "public"."events" GROUP BY "public"."events"."device" ORDER BY "count" DESC
SELECT device, COUNT(*) FILTER (WHERE event_name = 'click')::float / NULLIF(COUNT(*) FILTER (WHERE event_name = 'view'), 0) AS ctr FROM events GROUP BY device
SELECT COUNT(DISTINCT CASE WHEN event_name = 'purchase' THEN user_id END) * 1.0 / COUNT(DISTINCT user_id) AS conversion FROM events
SELECT page, COUNT(*) AS views FROM events WHERE event_name = 'view' GROUP BY page ORDER BY views DESC LIMIT 20
SELECT u.country, SUM(p.revenue) AS revenue FROM purchases p JOIN users u ON p.user_id = u.user_id GROUP BY u.country ORDER BY revenue DESC
SELECT continent, SUM(revenue) AS revenue FROM purchases JOIN users USING (user_id) JOIN countries USING (country) GROUP BY continent
SELECT DATE_TRUNC('month', bought_on) AS month, SUM(revenue) AS mrr, SUM(revenue) - LAG(SUM(revenue)) OVER (ORDER BY DATE_TRUNC('month', bought_on)) AS growth FROM purchases GROUP BY month ORDER BY month
SELECT AVG(revenue) AS aov, MEDIAN(revenue) AS median_order FROM purchases WHERE NOT refunded
SELECT hour, COUNT(*) FROM events GROUP BY hour ORDER BY hour
SELECT plan, AVG(n) AS events_per_user FROM (SELECT users.user_id, plan, COUNT(*) AS n FROM events JOIN users ON events.user_id = users.user_id GROUP BY users.user_id, plan) t GROUP BY plan
SELECT COUNT(*) FROM events WHERE page LIKE '/product/%'
SELECT COUNT(*) FROM events WHERE event_date > CURRENT_DATE - INTERVAL '30 days'
SELECT CASE WHEN duration_ms < 10000 THEN 'bounce' ELSE 'engaged' END AS kind, COUNT(*) FROM events GROUP BY CASE WHEN duration_ms < 10000 THEN 'bounce' ELSE 'engaged' END
SELECT AVG(duration_ms) / 1000.0 AS seconds FROM events WHERE event_name = 'view'
SELECT AVG(duration_ms / 1000.0) AS seconds FROM events WHERE event_name = 'view'
SELECT QUANTILE(duration_ms, 0.5) AS p50, QUANTILE(duration_ms, 0.95) AS p95 FROM events
SELECT device, browser, COUNT(*) AS n FROM events GROUP BY GROUPING SETS ((device), (browser))
SELECT COALESCE(coupon, 'none') AS coupon, COUNT(*) FROM purchases GROUP BY 1
SELECT DISTINCT country FROM users ORDER BY country
SELECT event_name, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC) AS cumulative FROM events GROUP BY event_name
SELECT day, AVG(views) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week_mean FROM (SELECT event_date AS day, COUNT(*) AS views FROM events WHERE event_name = 'view' GROUP BY event_date) daily
SELECT SUM(revenue * CASE WHEN refunded THEN 0 ELSE 1 END) AS net, SUM(items) AS items FROM purchases
WITH funnel AS (SELECT COUNT(*) FILTER (WHERE event_name = 'view') AS views, COUNT(*) FILTER (WHERE event_name = 'add_to_cart') AS carts, COUNT(*) FILTER (WHERE event_name = 'purchase') AS buys FROM events) SELECT views, carts, buys, ROUND(100.0 * buys / views, 2) AS rate FROM funnel""".splitlines()
OF_SURVEY = """SELECT region_code, COUNT(*) AS persons FROM persons GROUP BY region_code
SELECT sex, FLOOR(age / 5) * 5 AS age_band, COUNT(*) AS n FROM persons GROUP BY sex, age_band ORDER BY age_band, sex
SELECT employment, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM persons WHERE age BETWEEN 15 AND 74 GROUP BY employment
SELECT region_code, SUM(CASE WHEN employment = 'unemployed' THEN 1 ELSE 0 END) * 100.0 / SUM(CASE WHEN employment IN ('employed', 'unemployed') THEN 1 ELSE 0 END) AS unemployment_rate FROM persons GROUP BY region_code
SELECT region_code, SUM(weight) AS population FROM persons GROUP BY region_code
SELECT SUM(weight * income) / SUM(weight) AS weighted_mean FROM persons
SELECT education, MEDIAN(income) AS median_income FROM persons WHERE employment = 'employed' GROUP BY education
SELECT QUANTILE(income, 0.9) / QUANTILE(income, 0.1) AS decile_ratio FROM persons
SELECT sex, AVG(income) AS mean_income, COUNT(*) AS n FROM persons WHERE hours >= 35 GROUP BY sex
SELECT household, COUNT(*) FROM persons GROUP BY household ORDER BY household
SELECT nuts, AVG(income) FROM persons JOIN regions ON persons.region_code = regions.region_code GROUP BY nuts
SELECT region_code, education, COUNT(*) FROM persons GROUP BY ROLLUP (region_code, education)
SELECT tenure, AVG(rooms) AS rooms, AVG(rent) AS rent FROM dwellings GROUP BY tenure
SELECT tenure, AVG(rent / rooms) AS rent_per_room FROM dwellings WHERE tenure = 'rent' GROUP BY tenure
SELECT CASE WHEN built < 1950 THEN 'before 1950' WHEN built < 2000 THEN '1950 to 1999' ELSE 'since 2000' END AS period, COUNT(*) FROM dwellings GROUP BY period
SELECT mode, COUNT(*) AS trips, SUM(km) AS km FROM trips GROUP BY mode ORDER BY km DESC
SELECT EXTRACT(MONTH FROM travelled) AS month, mode, COUNT(*) FROM trips GROUP BY 1, 2 ORDER BY 1, 2
SELECT sex, mode, AVG(km) FROM trips, persons WHERE trips.person_id = persons.person_id GROUP BY sex, mode
SELECT AVG(LN(income + 1)) AS log_income FROM persons WHERE employment = 'employed'
SELECT REGR_SLOPE(income, hours), CORR(income, hours) FROM persons
SELECT COUNT(*) FROM persons WHERE NOT EXISTS (SELECT 1 FROM trips WHERE trips.person_id = persons.person_id)
SELECT AVG(total_km) FROM (SELECT person_id, SUM(km) AS total_km FROM trips GROUP BY person_id) t
SELECT VAR_POP(income), STDDEV_SAMP(income) FROM persons
SELECT region_code, COUNT(*) AS n FROM persons WHERE sex = 'f' GROUP BY region_code UNION ALL SELECT region_code, COUNT(*) FROM persons WHERE sex = 'm' GROUP BY region_code
SELECT UPPER(region_code) AS region, COUNT(*) AS n, ABS(AVG(age) - 40) AS from_forty FROM persons GROUP BY UPPER(region_code)""".splitlines()

PEOPLE = """SELECT COUNT(*) FROM visits
SELECT ward, COUNT(*) AS n, SUM(cost) AS total, AVG(cost) AS mean FROM visits GROUP BY ward ORDER BY n DESC
SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1
SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m ORDER BY m
SELECT EXTRACT(YEAR FROM day) y, EXTRACT(QUARTER FROM day) q, SUM(cost) FROM visits GROUP BY y, q
SELECT ward, COUNT(*) FROM visits WHERE cost BETWEEN 10 AND 50 AND ward IN ('n','s') GROUP BY ward
SELECT COUNT(*) FROM visits WHERE ward LIKE 'n%'
SELECT COUNT(*) FROM visits WHERE doctor LIKE 'd%'
SELECT AVG(COALESCE(cost, 0)) FROM visits
SELECT COUNT(DISTINCT doctor) FROM visits
SELECT COUNT(DISTINCT person) FROM visits JOIN people ON visits.patient=people.id
SELECT COUNT(DISTINCT patient) FROM visits
SELECT ward, SUM(cost)/COUNT(*) AS per_visit FROM visits GROUP BY ward
SELECT ward, SUM(CASE WHEN cost>50 THEN 1 ELSE 0 END)*100.0/COUNT(*) AS pct FROM visits GROUP BY ward
SELECT ward, COUNT(*)*100.0/SUM(COUNT(*)) OVER () AS pct_of_total FROM visits GROUP BY ward
SELECT doctor, COUNT(*) n FROM visits GROUP BY doctor ORDER BY n DESC LIMIT 3
SELECT MEDIAN(cost), QUANTILE(cost,0.95) FROM visits
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost) FROM visits
WITH per AS (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) SELECT AVG(n) FROM per
SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM visits JOIN people ON visits.patient=people.id GROUP BY person) t
SELECT n, COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits JOIN people ON visits.patient=people.id GROUP BY person) t GROUP BY n
SELECT sex, ward, AVG(val) FROM labs JOIN visits ON labs.visit=visits.vid JOIN people ON visits.patient=people.id GROUP BY sex, ward
SELECT m, SUM(n) OVER (ORDER BY m) FROM (SELECT DATE_TRUNC('month', day) AS m, COUNT(*) n FROM visits GROUP BY m) t
SELECT SUM(CASE WHEN ward='n' THEN cost ELSE 0 END) AS n, SUM(CASE WHEN ward='s' THEN cost ELSE 0 END) AS s FROM visits
SELECT COUNT(*) FILTER (WHERE cost > 50) FROM visits
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 10
SELECT DISTINCT ward FROM visits
SELECT COUNT(*) FROM visits WHERE patient IN (SELECT id FROM people WHERE sex='f')
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l WHERE l.visit=v.vid)
SELECT people.sex, COUNT(*) FROM people LEFT JOIN visits ON visits.patient=people.id GROUP BY people.sex
SELECT ward, COUNT(*) FROM visits WHERE ward='n' GROUP BY ward UNION ALL SELECT ward, COUNT(*) FROM visits WHERE ward='s' GROUP BY ward
SELECT CORR(cost, val) FROM labs JOIN visits ON labs.visit=visits.vid
SELECT ROUND(AVG(cost), 2) FROM visits
SELECT AVG(cost) FROM visits WHERE day >= DATE '2020-03-01' - INTERVAL 30 DAY
SELECT AVG(cost / 2) FROM visits
SELECT AVG(LN(cost + 1)) FROM visits
SELECT UPPER(ward) w, COUNT(*) FROM visits GROUP BY w
SELECT AVG(DATE_DIFF('day', born, day)) FROM visits JOIN people ON visits.patient=people.id
SELECT AVG(day - born)/365.25 FROM visits JOIN people ON visits.patient=people.id
SELECT region, SUM(cost) FROM visits JOIN regions USING (ward) GROUP BY region
SELECT region, SUM(cost) FROM visits JOIN regions ON visits.ward=regions.ward GROUP BY region
SELECT ABS(AVG(cost)-50) FROM visits
SELECT a.ward, COUNT(*) FROM visits a, people b WHERE a.patient=b.id GROUP BY a.ward
SELECT COUNT(*) FROM visits WHERE CAST(cost AS INTEGER) > 5
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP(ward)
SELECT MAX(cost) - MIN(cost) FROM visits
SELECT STDDEV(cost), VARIANCE(cost) FROM visits
SELECT EXTRACT(DOW FROM day) AS dow, COUNT(*) FROM visits GROUP BY dow ORDER BY dow
SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE - 30
SELECT who, SUM(amount) FROM bills GROUP BY who ORDER BY 2 DESC LIMIT 5""".splitlines()
TOOLS = """SELECT "public"."visits"."ward" AS "ward", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."ward" ORDER BY "public"."visits"."ward" ASC
SELECT "source"."ward" AS "ward", SUM("source"."cost") AS "sum" FROM (SELECT "visits"."ward" AS "ward", "visits"."cost" AS "cost" FROM "visits") AS "source" GROUP BY "source"."ward"
SELECT DATE_TRUNC('month', "visits"."day") AS "day", COUNT(*) AS "count" FROM "visits" GROUP BY DATE_TRUNC('month', "visits"."day") ORDER BY DATE_TRUNC('month', "visits"."day") ASC
SELECT CAST(SUM("visits"."cost") AS float) / NULLIF(CAST(COUNT(*) AS float), 0) AS "ratio" FROM "visits"
SELECT ward AS ward, COUNT(*) AS count FROM visits GROUP BY ward ORDER BY count DESC LIMIT 1000
SELECT ward AS ward, sum(cost) AS "SUM(cost)" FROM visits GROUP BY ward ORDER BY "SUM(cost)" DESC LIMIT 50000
SELECT ward, sum(cost) FROM visits GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 500
SELECT ward, count(1) FROM visits WHERE day >= '2020-01-01' AND day < '2020-07-01' GROUP BY 1
SELECT ward, count(distinct patient) FROM visits GROUP BY 1
SELECT count(*) filter (where ward = 'n') AS north, count(*) filter (where ward = 's') AS south FROM visits
SELECT CASE WHEN cost >= 50 THEN 'high' ELSE 'low' END AS band, count(*) FROM visits GROUP BY CASE WHEN cost >= 50 THEN 'high' ELSE 'low' END
SELECT DISTINCT "visits"."ward" FROM "visits" ORDER BY "visits"."ward" LIMIT 1000
SELECT 1
SELECT min(day), max(day) FROM visits
SELECT ward, avg(cost)::float FROM visits GROUP BY ward
SELECT COALESCE(ward, 'unknown') AS ward, COUNT(*) FROM visits GROUP BY COALESCE(ward, 'unknown')
SELECT ward, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), ())
SELECT sex, ward, COUNT(*) FROM visits JOIN people ON visits.patient = people.id GROUP BY CUBE (sex, ward)
SELECT t.ward, t.n, t.n * 1.0 / SUM(t.n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t
WITH base AS (SELECT ward, cost FROM visits WHERE cost > 0) SELECT ward, COUNT(*) AS n, AVG(cost) AS mean FROM base GROUP BY ward""".splitlines()

FIELDS: tuple[tuple[Catalog, list[str]], ...] = (
    (TPCH, OF_TPCH),
    (HOSPITAL, OF_HOSPITAL),
    (SITE, OF_SITE),
    (SURVEY, OF_SURVEY),
)
"""The 100 questions, each field with its declarations."""
