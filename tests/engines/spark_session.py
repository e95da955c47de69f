"""A Spark of the tests' own: one process on loopback, which writes in a folder of its own."""

import atexit
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from pyspark.sql import SparkSession

QUIET: Mapping[str, str] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Nothing listens but on loopback, and nothing is drawn on the terminal."""

SMALL: Mapping[str, str] = {
    # few rows, and code that runs once: what is spent on tasks and compilers is for nothing
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@cache
def folder() -> Path:
    """A folder that goes with the process."""
    place = Path(mkdtemp(prefix="tacit-spark-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def builder() -> SparkSession.Builder:
    """What every session of the tests is made from."""
    place = folder()
    made = SparkSession.builder.appName("tacit")
    made = made.config("spark.sql.warehouse.dir", str(place / "warehouse"))
    made = made.config("spark.local.dir", str(place))
    for name, value in {**QUIET, **SMALL}.items():
        made = made.config(name, value)
    return made


@cache
def local() -> SparkSession:
    """The session of this process, started when the first test asks for it."""
    session = builder().master("local[2]").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    atexit.register(session.stop)
    return session
