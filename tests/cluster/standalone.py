"""A standalone Spark on loopback: a master, two workers, and a driver in this process."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

import pyspark
from pyspark.sql import SparkSession
from spark_session import builder, folder

HOME = Path(pyspark.__file__).parent
MASTER, WORKER = (
    "org.apache.spark.deploy.master.Master",
    "org.apache.spark.deploy.worker.Worker",
)
EXECUTOR = "CoarseGrainedExecutorBackend"
ROOM = ("-c", "1", "-m", "700m", "-p", "0")
PATIENCE = 60.0


@contextmanager
def cluster() -> Iterator[SparkSession]:
    """The driver's session, whose work is done by two workers of one core."""
    with ExitStack() as running:
        master = running.enter_context(_started("master", MASTER, "-p", "0"))
        address = re.findall(
            r"spark://127\.0\.0\.1:\d+", _heard(master, "Starting Spark master")
        )[0]
        logs = [
            running.enter_context(
                _started(name, WORKER, *ROOM, "-d", str(folder() / name), address)
            )
            for name in ("one", "two")
        ]
        for log in logs:
            _heard(log, "Successfully registered with master")
        made = builder().master(address).config("spark.executor.memory", "512m")
        made = made.config("spark.executor.extraJavaOptions", "-XX:+UseSerialGC")
        session = made.config("spark.cores.max", "2").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        running.callback(session.stop)
        _wait(lambda: len(executors()) == len(logs))
        yield session


def executors() -> set[int]:
    """The processes that do the work of this driver, by their ids."""
    folders = str(folder()).encode()
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes()
            where = (place / "cwd").readlink()
        except OSError:  # it has ended, or is not ours
            continue
        if EXECUTOR.encode() in command and str(where).encode().startswith(folders):
            found.add(int(place.name))
    return found


@contextmanager
def _started(name: str, role: str, *arguments: str) -> Iterator[Path]:
    log = folder() / f"{name}.log"
    command = [str(HOME / "bin" / "spark-class"), role, "-h", "127.0.0.1", "--webui-port", "0"]
    environment = os.environ | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(HOME),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("wb") as heard:
        process = subprocess.Popen(
            [*command, *arguments],
            stdout=heard,
            stderr=heard,
            env=environment,
            start_new_session=True,
        )
    try:
        yield log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _heard(log: Path, words: str) -> str:
    _wait(lambda: words in log.read_text(errors="replace"))
    return log.read_text(errors="replace")


def _wait(ready: Callable[[], bool]) -> None:
    end = monotonic() + PATIENCE
    while not ready():
        if monotonic() > end:
            raise TimeoutError
        sleep(0.1)
