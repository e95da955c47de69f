"""Spark as the owner of the tables: to make and drop copies, and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.engines.prepare import Run
from tacit.engines.print.sql_dialects import SPARK
from tacit.engines.print.word import identifier
from tacit.engines.spark import open_spark
from tacit.errors import InvalidValue, TacitError


@contextmanager
def spark_owner(address: str, database: str) -> Iterator[Run]:
    """Runs statements at ``address``, in a session that is set as those that answer are.

    Guarantee: a copy is made by the arithmetic that questions are answered by. Spark has no
    transactions: what was begun and failed is made anew by the next attempt.
    """
    spark = open_spark(address)
    try:
        spark.write(f"CREATE DATABASE IF NOT EXISTS {SPARK.render(identifier(database))}")
        yield spark.write
    except TacitError:
        raise
    except Exception as error:  # of Spark, of the bridge to it, or of the network
        raise InvalidValue(
            f"Spark failed, by a {type(error).__name__}; look at the address, and that it may "
            "read the table, and create tables where the copy shall lie."
        ) from error
    finally:
        spark.close()
