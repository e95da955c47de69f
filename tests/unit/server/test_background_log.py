"""A reader of the log that stalls stops nobody, and what it missed is counted."""

import json
from threading import Event, Thread

from tacit.server.middleware import BackgroundLog, Write

MOST = 100


def writes_all(log: Write, lines: int) -> bool:
    """Whether a thread that writes so many lines comes to its end."""
    writer = Thread(target=lambda: [log(f"{n}\n") for n in range(lines)], daemon=True)
    writer.start()
    writer.join(10 if isinstance(log, BackgroundLog) else 0.5)
    return not writer.is_alive()


def test_a_stalled_reader_stops_nobody() -> None:
    reads, seen = Event(), []

    def write(line: str) -> None:
        reads.wait(60)
        seen.append(line)

    log = BackgroundLog(write, MOST)
    assert writes_all(log, 10 * MOST)
    assert not writes_all(write, 10)  # the lie: requests write themselves
    reads.set()
    log.close()
    numbers = [line for line in seen if line.strip().isdigit()]
    [told] = [json.loads(line)["dropped_lines"] for line in seen if "dropped" in line]
    assert len(set(numbers)) + told == 10 * MOST
    assert len(set(numbers)) <= MOST + 1


def test_a_log_that_fails_ends_nothing() -> None:
    def write(_: str) -> None:
        raise BrokenPipeError

    log = BackgroundLog(write)
    assert writes_all(log, 10)
    log.close()
