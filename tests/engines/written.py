"""Questions in SQL, by what they are about; a new part of the language adds its own group."""

CLINIC: dict[str, tuple[str, ...]] = {
    "counts": (
        "SELECT COUNT(*) FROM visits",
        "SELECT COUNT(DISTINCT person) FROM visits",
        "SELECT COUNT(pay) FROM visits",
        "SELECT COUNT(ward) FROM visits",
        "SELECT COUNT(day) FROM visits",
        "SELECT COUNT(smoker) FROM visits",
        "SELECT COUNT(age + pay) FROM visits",
        "SELECT COUNT(person) FROM visits",
    ),
    "distinct values": (
        "SELECT COUNT(DISTINCT doctor) FROM visits",
        "SELECT COUNT(DISTINCT room), COUNT(DISTINCT day), COUNT(DISTINCT smoker) FROM visits",
        "SELECT COUNT(DISTINCT age), COUNT(DISTINCT cost), COUNT(DISTINCT pay) FROM visits",
        "SELECT COUNT(DISTINCT age + cost), COUNT(DISTINCT MONTH(day)) FROM visits",
        "SELECT COUNT(DISTINCT CASE WHEN smoker THEN doctor END), MEDIAN(age) FROM visits",
        "SELECT ward, COUNT(DISTINCT doctor), COUNT(*) FROM visits GROUP BY ward",
        "SELECT doctor, COUNT(DISTINCT ward), MAX(pay) FROM visits GROUP BY doctor",
        """SELECT COUNT(DISTINCT n) FROM (SELECT person, COUNT(*) AS n FROM visits
        GROUP BY person)""",
    ),
    "functions": (
        "SELECT SUM(ABS(age - 50)), SUM(GREATEST(age, 18)), AVG(SQRT(age)) FROM visits",
        "SELECT SUM(FLOOR(cost)), SUM(ROUND(cost / 3)), AVG(COALESCE(age, 0)) FROM visits",
        "SELECT ROUND(age, -1) AS about, COUNT(*) FROM visits GROUP BY about",
        "SELECT UPPER(ward) AS name, COUNT(*) FROM visits GROUP BY name",
    ),
    "sums": (
        "SELECT SUM(age) FROM visits",
        "SELECT SUM(pay) FROM visits",
        "SELECT SUM(cost) FROM visits",
        "SELECT SUM(-age) FROM visits",
        "SELECT SUM(age + 1), SUM(age - 1), SUM(age * 3) FROM visits",
        "SELECT SUM(age * cost) FROM visits",
        "SELECT SUM(0.5 * pay - 2 * age) FROM visits",
        "SELECT SUM(cost - cost) FROM visits",
        "SELECT SUM(1) FROM visits",
        "SELECT SUM(-0.25) FROM visits",
        "SELECT SUM(NULL) FROM visits",
        "SELECT SUM(age * NULL) FROM visits",
    ),
    "means and spreads": (
        "SELECT AVG(age) FROM visits",
        "SELECT AVG(pay), AVG(cost) FROM visits",
        "SELECT AVG(age * age) FROM visits",
        "SELECT VARIANCE(age), VAR_POP(age) FROM visits",
        "SELECT VAR_SAMP(pay) FROM visits",
        "SELECT VAR_POP(cost) FROM visits",
        "SELECT STDDEV(age), STDDEV_SAMP(age), STDDEV_POP(age) FROM visits",
        "SELECT STDDEV_POP(pay - age) FROM visits",
        "SELECT AVG(age), VARIANCE(age), SUM(age), COUNT(age) FROM visits",
    ),
    "two numbers": (
        "SELECT CORR(age, cost) FROM visits",
        "SELECT COVAR_POP(age, pay), COVAR_SAMP(pay, age), CORR(pay, age) FROM visits",
        """SELECT ward, REGR_SLOPE(cost, age), REGR_INTERCEPT(cost, age) FROM visits
        GROUP BY ward""",
        "SELECT REGR_R2(age * 2, cost + 1), REGR_COUNT(age, pay) FROM visits",
        "SELECT doctor, CORR(until - DATE '2020-01-01', age) FROM visits GROUP BY doctor",
        "SELECT REGR_AVGX(age, pay), REGR_AVGY(age, pay), COUNT_IF(age > 3) FROM visits",
    ),
    "quantiles": (
        "SELECT MEDIAN(age) FROM visits",
        "SELECT MEDIAN(pay), MEDIAN(cost) FROM visits",
        "SELECT QUANTILE(age, 0.9) FROM visits",
        "SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY pay) FROM visits",
        "SELECT PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY cost DESC) FROM visits",
        "SELECT MIN(age), MAX(age) FROM visits",
        "SELECT MIN(pay) FROM visits",
        "SELECT MAX(cost * 2) FROM visits",
        "SELECT MAX(CASE WHEN smoker THEN age END) FROM visits",
        "SELECT MEDIAN(age + cost), AVG(age), COUNT(*) FROM visits",
    ),
    "comparisons": (
        "SELECT COUNT(*) FROM visits WHERE age = 40",
        "SELECT COUNT(*) FROM visits WHERE age <> 40",
        "SELECT COUNT(*) FROM visits WHERE age < 17.5",
        "SELECT COUNT(*) FROM visits WHERE room >= 4611686018427387903",
        "SELECT COUNT(*) FROM visits WHERE 18 <= age",
        "SELECT COUNT(*) FROM visits WHERE pay > 0.1",
        "SELECT COUNT(*) FROM visits WHERE pay = 0",
        "SELECT COUNT(*) FROM visits WHERE pay <= 99.9",
        "SELECT COUNT(*) FROM visits WHERE cost = 99.99",
        "SELECT COUNT(*) FROM visits WHERE cost > -10.5",
        "SELECT COUNT(*) FROM visits WHERE cost < 0.000000000000000001",
        "SELECT COUNT(*) FROM visits WHERE age = room",
        "SELECT COUNT(*) FROM visits WHERE age < room",
        "SELECT COUNT(*) FROM visits WHERE ward = doctor",
        "SELECT COUNT(*) FROM visits WHERE ward <> doctor",
        "SELECT COUNT(*) FROM visits WHERE age > cost",
        "SELECT COUNT(*) FROM visits WHERE age + 1 >= pay",
        "SELECT COUNT(*) FROM visits WHERE age * 2 - 1 = 33",
        "SELECT COUNT(*) FROM visits WHERE age BETWEEN 3 AND 17",
        "SELECT COUNT(*) FROM visits WHERE pay BETWEEN age AND cost",
        "SELECT COUNT(*) FROM visits WHERE age = NULL",
    ),
    "text, truth and lists": (
        "SELECT COUNT(*) FROM visits WHERE ward = 'north'",
        "SELECT COUNT(*) FROM visits WHERE ward = ''",
        "SELECT COUNT(*) FROM visits WHERE ward <> 'it''s'",
        "SELECT COUNT(*) FROM visits WHERE doctor = 'Ärztin'",
        "SELECT COUNT(*) FROM visits WHERE doctor = 'NULL'",
        "SELECT COUNT(*) FROM visits WHERE doctor IN ('a|b', '😀', '')",
        "SELECT COUNT(*) FROM visits WHERE doctor NOT IN ('a', 'b')",
        "SELECT COUNT(*) FROM visits WHERE age IN (1, 2, 120)",
        "SELECT COUNT(*) FROM visits WHERE room IN (4611686018427387903, -1, 7)",
        "SELECT COUNT(*) FROM visits WHERE pay IN (0.1, 0.5, 0)",
        "SELECT COUNT(*) FROM visits WHERE cost NOT IN (1.25, 5)",
        "SELECT COUNT(*) FROM visits WHERE age + 1 IN (1, 18, 0.5)",
        "SELECT COUNT(*) FROM visits WHERE smoker",
        "SELECT COUNT(*) FROM visits WHERE NOT smoker",
        "SELECT COUNT(*) FROM visits WHERE smoker = FALSE",
        "SELECT COUNT(*) FROM visits WHERE person = 'it''s'",
        "SELECT COUNT(*) FROM visits WHERE TRUE",
        "SELECT COUNT(*) FROM visits WHERE FALSE",
        "SELECT COUNT(*) FROM visits WHERE NULL",
    ),
    "days": (
        "SELECT COUNT(*) FROM visits WHERE day = DATE '2000-02-29'",
        "SELECT COUNT(*) FROM visits WHERE day < DATE '2000-01-01'",
        "SELECT COUNT(*) FROM visits WHERE day >= DATE '9999-12-31'",
        "SELECT COUNT(*) FROM visits WHERE day IN (DATE '0001-01-01', DATE '2024-06-01')",
        "SELECT COUNT(*) FROM visits WHERE day BETWEEN DATE '1999-12-31' AND DATE '2024-06-01'",
        "SELECT COUNT(*) FROM visits WHERE day IS NOT NULL AND day <> DATE '2000-02-29'",
    ),
    "parts of days and periods": (
        "SELECT SUM(YEAR(until)), AVG(MONTH(until)), SUM(DAY(until)) FROM visits",
        "SELECT SUM(EXTRACT(QUARTER FROM day)), MAX(EXTRACT(DOW FROM day)) FROM visits",
        "SELECT AVG(until - DATE '2020-02-29'), SUM(until - until) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE MONTH(day) = 2 OR YEAR(until) < 2020",
        "SELECT DATE_TRUNC('year', day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT DATE_TRUNC('month', until) AS k, SUM(age) FROM visits GROUP BY k",
        "SELECT DATE_TRUNC('week', day) AS k, AVG(age) FROM visits GROUP BY k",
        "SELECT DATE_TRUNC('quarter', day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT DAYOFWEEK(day) AS k, ward, COUNT(*) FROM visits GROUP BY k, ward",
    ),
    "patterns": (
        "SELECT COUNT(*) FROM visits WHERE ward LIKE 'n%'",
        "SELECT COUNT(*) FROM visits WHERE ward NOT LIKE '%o_th'",
        "SELECT COUNT(*) FROM visits WHERE NOT ward LIKE 'nothing' OR smoker",
        "SELECT SUM(CASE WHEN ward LIKE '%''_' THEN age END) FROM visits",
    ),
    "unknown": (
        "SELECT COUNT(*) FROM visits WHERE pay IS NULL",
        "SELECT COUNT(*) FROM visits WHERE pay IS NOT NULL",
        "SELECT COUNT(*) FROM visits WHERE ward IS NULL",
        "SELECT COUNT(*) FROM visits WHERE smoker IS NULL",
        "SELECT COUNT(*) FROM visits WHERE age + pay IS NULL",
        "SELECT COUNT(*) FROM visits WHERE NOT (smoker OR age > 30)",
        "SELECT COUNT(*) FROM visits WHERE smoker AND age > 30 OR pay IS NULL",
        "SELECT COUNT(*) FROM visits WHERE NOT (age < 3 AND NOT (pay > 1 OR NULL))",
        "SELECT COUNT(*) FROM visits WHERE (age > 3 OR ward = 'x') AND (smoker OR NOT smoker)",
    ),
    "cases": (
        "SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END) FROM visits",
        "SELECT SUM(CASE WHEN smoker THEN pay WHEN age > 9 THEN cost END) FROM visits",
        "SELECT AVG(CASE WHEN pay IS NULL THEN 0 ELSE pay END) FROM visits",
        "SELECT SUM(CASE ward WHEN 'north' THEN age WHEN '' THEN -age ELSE 1 END) FROM visits",
        "SELECT SUM(CASE WHEN age IN (1, 2) THEN CASE WHEN smoker THEN 2 END END) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE CASE WHEN smoker THEN age ELSE pay END > 5",
        "SELECT COUNT(CASE WHEN age > 3 THEN 1 END) FROM visits",
    ),
    "public groups": (
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
        "SELECT smoker, SUM(cost) FROM visits GROUP BY smoker",
        "SELECT ward, smoker, AVG(age), MEDIAN(age) FROM visits GROUP BY ward, smoker",
        "SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM visits GROUP BY decade",
        "SELECT FLOOR(pay / 25) * 25 AS k, COUNT(DISTINCT person) FROM visits GROUP BY k",
        "SELECT FLOOR(cost / 7) * 7 AS k, ward, SUM(age) FROM visits GROUP BY k, ward",
        "SELECT FLOOR((age + cost) / 40) * 40 AS k, COUNT(*) FROM visits GROUP BY k",
        """SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS k, COUNT(*)
        FROM visits GROUP BY k""",
        """SELECT CASE WHEN age < 18 THEN 1 WHEN pay > 9 THEN 2 END AS k, AVG(pay)
        FROM visits GROUP BY k""",
        """SELECT CASE ward WHEN 'north' THEN 'n' WHEN '' THEN 'none' END AS k, COUNT(*)
        FROM visits GROUP BY k""",
        "SELECT COUNT(*) FROM visits GROUP BY ward, smoker",
    ),
    "secret groups": (
        "SELECT doctor, COUNT(*) FROM visits GROUP BY doctor",
        "SELECT room, COUNT(DISTINCT person) FROM visits GROUP BY room",
        "SELECT day, AVG(pay) FROM visits GROUP BY day",
        "SELECT day, doctor, SUM(age) FROM visits GROUP BY day, doctor",
        "SELECT doctor, ward, COUNT(*), VARIANCE(age) FROM visits GROUP BY doctor, ward",
        "SELECT room, FLOOR(age / 40) * 40 AS k, COUNT(*) FROM visits GROUP BY room, k",
        "SELECT doctor, MEDIAN(age), MAX(pay) FROM visits WHERE age > 1 GROUP BY doctor",
        "SELECT age, COUNT(*) FROM visits GROUP BY age",
    ),
    "the answer": (
        "SELECT ward, SUM(age) / COUNT(*) AS m FROM visits GROUP BY ward HAVING m > 3",
        "SELECT ward, SUM(pay) AS n FROM visits GROUP BY ward ORDER BY n DESC, ward LIMIT 2",
        "SELECT ward FROM visits GROUP BY ward HAVING AVG(pay) > 1 OR COUNT(*) IS NULL",
        "SELECT MAX(pay) - MIN(pay) AS span FROM visits",
        "SELECT ward, ROUND(SUM(age)) AS s, SUM(s) OVER (ORDER BY ward) FROM visits GROUP BY 1",
        "SELECT 100 * SUM(CASE WHEN smoker THEN 1 ELSE 0 END) / COUNT(*) AS share FROM visits",
        "SELECT smoker, COUNT(*) AS n, n * 2 AS m FROM visits GROUP BY smoker ORDER BY m",
    ),
    "queries below": (
        "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE age > 30) AS old",
        "SELECT SUM(twice) FROM (SELECT age * 2 AS twice FROM visits WHERE smoker) AS t",
        """WITH old AS (SELECT ward, age FROM visits WHERE age > 3)
        SELECT ward, AVG(age) FROM old GROUP BY ward""",
        """WITH a AS (SELECT age AS x, pay FROM visits), b AS (SELECT x + 1 AS y, pay FROM a)
        SELECT SUM(y), COUNT(pay) FROM b WHERE y > 2""",
        """SELECT k, COUNT(*) FROM (SELECT CASE WHEN pay > 1 THEN 'rich' ELSE 'poor' END AS k
        FROM visits) AS t GROUP BY k""",
        'SELECT v."room" AS "The room", COUNT(*) FROM visits AS v GROUP BY v."room"',
    ),
    "each person": (
        "SELECT AVG(total) FROM (SELECT person, SUM(cost) total FROM visits GROUP BY person)",
        """SELECT n, COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person)
        GROUP BY n""",
        """SELECT ward, AVG(m), MEDIAN(m) FROM (SELECT person, ward, MAX(age) AS m FROM visits
        WHERE age > 3 GROUP BY person, ward) WHERE m < 100 GROUP BY ward""",
        """WITH t AS (SELECT person, doctor, COUNT(pay) AS n FROM visits
        GROUP BY person, doctor),
        u AS (SELECT person, MAX(n) AS n FROM t WHERE doctor <> 'x' GROUP BY person)
        SELECT SUM(n), COUNT(*) FROM u""",
        "SELECT AVG(m) FROM (SELECT person, AVG(pay) AS m FROM visits GROUP BY person)",
    ),
}


HOSPITAL: dict[str, tuple[str, ...]] = {
    "one table of three": (
        "SELECT COUNT(*) FROM patients",
        "SELECT city, COUNT(*) FROM patients GROUP BY city",
        "SELECT ward, COUNT(*), AVG(age) FROM visits GROUP BY ward",
        "SELECT COUNT(value), SUM(value) FROM labs WHERE value <> 0",
        "SELECT MEDIAN(value) FROM labs",
    ),
    "two tables": (
        "SELECT city, COUNT(*) FROM patients p JOIN visits v ON p.id = v.patient GROUP BY city",
        "SELECT COUNT(DISTINCT person) FROM visits JOIN patients ON patients.id = patient",
        """SELECT city, COUNT(DISTINCT ward), COUNT(DISTINCT patient) FROM visits JOIN patients
        ON patients.id = patient GROUP BY city""",
        "SELECT ward, SUM(value) FROM labs JOIN visits ON visit = visits.id GROUP BY ward",
        "SELECT AVG(age * value) FROM visits v JOIN labs l ON l.visit = v.id WHERE age > 9",
    ),
    "three tables": (
        """SELECT COUNT(*), SUM(value) FROM labs JOIN visits ON labs.visit = visits.id
        JOIN patients ON patients.id = visits.patient""",
        """SELECT city, ward, SUM(value * age) FROM labs l JOIN visits v ON v.id = l.visit
        JOIN patients p ON v.patient = p.id WHERE value > -3 GROUP BY ward, city""",
        """SELECT city, MEDIAN(value), MAX(age) FROM patients p
        JOIN visits v ON p.id = v.patient JOIN labs l ON l.visit = v.id GROUP BY city""",
        """SELECT v.id, COUNT(*) FROM patients p JOIN visits v ON p.id = v.patient
        JOIN labs l ON l.visit = v.id WHERE city = 'Bern' GROUP BY v.id""",
        """WITH bern AS (SELECT id, city FROM patients WHERE city = 'Bern')
        SELECT COUNT(*) FROM bern JOIN visits ON bern.id = visits.patient
        JOIN labs ON labs.visit = visits.id WHERE value > age""",
        """SELECT CASE WHEN value > 0 THEN 'up' ELSE 'down' END AS k, STDDEV(age) FROM labs
        JOIN visits ON visit = visits.id GROUP BY k""",
    ),
    "people of three tables": (
        """SELECT AVG(s), COUNT(*) FROM (SELECT person, SUM(value) AS s, MAX(age) AS a FROM labs
        JOIN visits ON visit = visits.id JOIN patients ON patient = patients.id GROUP BY person)
        WHERE a > 20""",
        """WITH t AS (SELECT person, ward, city, COUNT(*) AS n, AVG(age) AS a FROM visits v
        JOIN patients p ON v.patient = p.id GROUP BY person, ward, city HAVING MIN(age) > 1)
        SELECT city, SUM(n), MEDIAN(a) FROM t WHERE n IN (1, 2) OR a IS NULL GROUP BY city""",
        """SELECT n, COUNT(*) FROM (SELECT person, MAX(n) AS n FROM (SELECT person, ward,
        COUNT(age) AS n FROM visits v JOIN patients p ON v.patient = p.id GROUP BY person, ward)
        GROUP BY person) GROUP BY n""",
    ),
    "rows of the same person elsewhere": (
        """SELECT COUNT(*) FROM visits
        WHERE patient IN (SELECT id FROM patients WHERE city = 'Ulm')""",
        "SELECT COUNT(*), SUM(age) FROM visits WHERE id NOT IN (SELECT visit FROM labs)",
        "SELECT COUNT(*) FROM labs WHERE visit NOT IN (SELECT id FROM visits WHERE age > 40)",
        """SELECT ward, COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l
        WHERE l.visit = v.id AND value > 0) GROUP BY ward""",
        """SELECT ward, MEDIAN(age) FROM visits v WHERE age < 80 AND NOT EXISTS (SELECT 1
        FROM labs l WHERE l.visit = v.id AND value IS NULL) GROUP BY ward""",
        """SELECT city, COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v
        JOIN labs l ON l.visit = v.id WHERE v.patient = p.id AND value > age) GROUP BY city""",
        """SELECT ward, COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w
        WHERE w.patient = v.patient AND w.ward = v.ward AND w.age > 50) GROUP BY ward""",
        """SELECT COUNT(*) FROM labs WHERE visit IN (SELECT id FROM visits WHERE patient NOT IN
        (SELECT id FROM patients WHERE city = 'Bern'))""",
        """SELECT COUNT(*), COUNT(DISTINCT person) FROM patients WHERE person IN
        (SELECT person FROM patients p JOIN visits v ON p.id = v.patient GROUP BY person
        HAVING COUNT(*) > 1)""",
        """SELECT AVG(n), COUNT(*) FROM (SELECT person, city, COUNT(*) AS n FROM patients p
        JOIN visits v ON v.patient = p.id WHERE v.id IN (SELECT visit FROM labs)
        GROUP BY person, city) t WHERE EXISTS (SELECT 1 FROM patients q
        WHERE q.person = t.person AND q.city = t.city)""",
        """SELECT region, COUNT(*) FROM visits v LEFT JOIN regions r ON v.ward = r.ward
        WHERE v.id NOT IN (SELECT visit FROM labs WHERE value < 0) GROUP BY region""",
    ),
    "people without rows": (
        """SELECT city, COUNT(*), COUNT(age), SUM(age) FROM patients
        LEFT JOIN visits ON visits.patient = patients.id GROUP BY city""",
        """SELECT COUNT(*), COUNT(v.id), COUNT(value), AVG(value) FROM patients p
        LEFT JOIN visits v ON v.patient = p.id LEFT JOIN labs ON labs.visit = v.id""",
        """SELECT COUNT(*), MAX(value) FROM patients p LEFT JOIN visits v ON v.patient = p.id
        JOIN labs ON labs.visit = v.id WHERE city IS NOT NULL""",
        """SELECT ward, COUNT(*) FROM visits LEFT JOIN patients ON patient = patients.id
        GROUP BY ward""",
        """SELECT COUNT(*) FROM patients LEFT JOIN visits ON patient = patients.id
        WHERE visits.id IS NULL""",
        """SELECT n, COUNT(*) FROM (SELECT person, COUNT(v.id) AS n FROM patients p
        LEFT JOIN visits v ON v.patient = p.id GROUP BY person) GROUP BY n""",
    ),
    "a public table": (
        """SELECT region, COUNT(*), AVG(beds + age) FROM visits v
        JOIN regions r ON v.ward = r.ward GROUP BY region""",
        """SELECT SUM(beds * value), COUNT(beds), MEDIAN(beds) FROM labs
        JOIN visits ON visit = id LEFT JOIN regions ON regions.ward = visits.ward
        WHERE region IS NULL OR beds > 3""",
        """SELECT region, SUM(n), SUM(beds) FROM (SELECT person, ward, COUNT(*) AS n
        FROM visits v JOIN patients p ON v.patient = p.id GROUP BY person, ward) t
        LEFT JOIN regions r ON t.ward = r.ward WHERE n < 3 GROUP BY region""",
    ),
}
