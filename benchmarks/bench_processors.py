"""Where the time of the processors goes under load: servers, workers, PostgreSQL and clients.

The kernel counts the time of each process in /proc. What is left of the machine is shown as
well: other processes, idle processors, and what the host took.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from time import perf_counter

from bench_load import FEW, MANY, OPEN, _project, _servers, _token
from conftest import Bar
from loading import loaded

SECONDS = float(os.environ.get("TACIT_PROCESSOR_SECONDS", "20"))
WARM_SECONDS = 6
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
MACHINE = ("user", "nice", "system", "idle", "waits for disks", "interrupts", "soft", "host")


def test_where_the_time_of_processors_goes(
    tmp_path: Path, new_store: Callable[[str], str], bar: Bar
) -> None:
    address = new_store("postgresql")
    file, token = _project(tmp_path / "open", address, OPEN), _token(address)
    with _servers(file, tmp_path) as servers:
        ports, pids = [each.port for each in servers], {each.pid for each in servers}
        loaded(ports, token, MANY, WARM_SECONDS)
        for clients in (FEW, MANY):
            before, machine, began = processes(), whole_machine(), perf_counter()
            load = loaded(ports, token, clients, SECONDS)
            after, later, taken = processes(), whole_machine(), perf_counter() - began
            answers = len(load.milliseconds)
            spent = by_part(before, after, pids)
            spent |= {name: later[name] - machine[name] for name in ("idle", "host")}
            what = f"at {clients} clients"
            bar(f"{what}: answers a second", answers / taken, "shown", ok=True)
            bar(f"{what}: ms of an answer, p50", median(load.milliseconds), "shown", ok=True)
            for name, ms in spent.items():
                bar(
                    f"{what}: ms of processors an answer, {name}",
                    ms / answers,
                    "shown",
                    ok=True,
                )


Process = tuple[str, int, float]
"""The name of a process, its parent, and the milliseconds of processors that it used."""


def processes() -> dict[int, Process]:
    """All processes of this machine."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(") ")
        except OSError:
            continue  # it has just ended
        fields = rest.split()
        used = (int(fields[11]) + int(fields[12])) * TICK_MS
        found[int(stat.parent.name)] = (name, int(fields[1]), used)
    return found


def whole_machine() -> dict[str, float]:
    """The milliseconds of all processors, by what they did."""
    first = Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    return {name: int(each) * TICK_MS for name, each in zip(MACHINE, first, strict=False)}


def by_part(
    before: dict[int, Process], after: dict[int, Process], servers: Iterable[int]
) -> dict[str, float]:
    """The milliseconds that each part used in between."""
    spent = Counter[str]()
    for pid, (name, _, used) in after.items():
        spent[part_of(pid, name, after, set(servers))] += (
            used - before.get(pid, ("", 0, 0.0))[2]
        )
    return dict(spent.most_common())


def part_of(pid: int, name: str, known: dict[int, Process], servers: set[int]) -> str:
    """Which part of the measurement a process is."""
    if pid in servers:
        return "servers"
    if pid == os.getpid():
        return "clients"
    above = pid
    while above in known and above not in servers:
        above = known[above][1]
    if above in servers:
        return "workers"
    return "PostgreSQL" if "postgres" in name else "other processes"
