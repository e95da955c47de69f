"""A Spark of the tests' own: one process on loopback, which writes in a folder of its own."""

import atexit
import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from socket import create_server
from tempfile import mkdtemp

from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

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
    # nobody looks at its pages, for which it remembers a thousand questions
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

INTERPRETED: Mapping[str, str] = {
    # a compiled question takes 2 to 4 seconds, most of them in the compiler
    "spark.sql.codegen.wholeStage": "false",
}
"""CI has expressions interpreted here, and compiled by the cluster, as they are by default."""

IN_CI = os.environ.get("TACIT_SPARK_EXPRESSIONS") == "interpreted"


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
def free_port() -> int:
    """A port on which nothing listens yet."""
    with create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@cache
def local() -> SparkSession:
    """The session of this process, started when the first test asks for it.

    It answers Connect as well, on loopback.
    """
    made = builder().master("local[2]")
    made = made.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    made = made.config("spark.connect.grpc.binding.address", "127.0.0.1")
    made = made.config("spark.connect.grpc.binding.port", str(free_port()))
    for name, value in INTERPRETED.items() if IN_CI else ():
        made = made.config(name, value)
    session = made.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    atexit.register(session.stop)
    return session


@cache
def remote() -> ConnectSession:
    """A session of a client that speaks with that process over the network."""
    local()
    made = ConnectSession.builder.remote(f"sc://127.0.0.1:{free_port()}").create()
    atexit.register(made.stop)
    return made
