"""Our statistics beside `tshark -q -z`: the nearest that it can say of the same messages.

Theory. tshark has no statistics of Kafka's operations. `-z io,stat` counts and sums fields for as many filters as
it is given, so with a column for each operation it tells messages, bytes, and the least, mean and greatest of a time;
the nearest time that it has is how long the peer took to acknowledge, for it knows no time of an answer. It has no
percentiles. `-z conv,tcp` is the nearest to conversations. What both say is compared before it is timed: the messages
of each operation.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Bench, installed
from benchmarks.measure import Failed, Pipeline, alternated, ours, output
from benchmarks.table import Line

BY_OPERATION = ("stats", "--by", "code,operation", "--format", "csv")
PLAIN_GOAL, ERRORS_GOAL = "15", "8"
RTT = "tcp.analysis.ack_rtt"
_ROW = re.compile(rb"\| +0(?:\.0+)? +<> .*")


class Beside(NamedTuple):
    """A work of ours, and tshark's nearest to it."""

    name: str
    arguments: Sequence[str]
    said: str
    theirs: Sequence[str]
    goal: str = ""


def figures(bench: Bench) -> Iterator[Line]:
    """Statistics of small messages, each beside a command of its own."""
    capture = bench.capture("small")
    keys, clients = _groups(capture, "code"), _groups(capture, "client")
    if installed("tshark"):
        _compare(capture, keys)
    for each in _works(keys, clients):
        pipelines: list[Pipeline] = [ours(*each.arguments, str(capture))]
        if installed("tshark"):
            pipelines.append(_tshark(capture, each.theirs))
        run, *others = alternated(pipelines, bench.times)
        text, ratio = (others[0].text(), others[0].cpu / run.cpu) if others else ("", None)
        yield Line(each.name, "small", run.text(), f"tshark, {each.said}", text, ratio, each.goal)


def _works(keys: Sequence[str], clients: Sequence[str]) -> Iterator[Beside]:
    operations = [f"kafka.api_key=={key}" for key in keys]
    people = [f'kafka.client_id=="{client}"' for client in clients]
    plain = [column for each in operations for column in (*_amounts(each), *_times(each))]
    errors = ["COUNT(kafka.error)kafka.error && kafka.error!=0"]
    screen = [column for each in (*operations, *people) for column in _amounts(each)]
    stat, talks = "`-z io,stat`", ("-z", "conv,tcp")
    by = "stats", "--by", "operation"
    yield Beside("`stats --by operation --no-errors`", (*by, "--no-errors"), stat, _stat("0", plain), PLAIN_GOAL)
    yield Beside("`stats --by operation`", by, f"{stat} with errors", _stat("0", [*plain, *errors]), ERRORS_GOAL)
    whole = (*_stat("0.5", [*screen, *errors]), *talks, "-z", "endpoints,tcp")
    yield Beside("`stats`", ("stats",), f"{stat}, `conv`, `endpoints`", whole, ERRORS_GOAL)
    yield Beside("`stats --conversations`", ("stats", "--conversations"), "`-z conv,tcp`", talks)


def _amounts(condition: str) -> Sequence[str]:
    return [f"{name}(kafka.len)kafka.len && {condition}" for name in ("COUNT", "SUM")]


def _times(condition: str) -> Sequence[str]:
    return [f"{name}({RTT}){RTT} && {condition}" for name in ("MIN", "AVG", "MAX")]


def _stat(interval: str, columns: Sequence[str]) -> Sequence[str]:
    return "-z", ",".join(["io,stat", interval, *columns])


def _tshark(capture: Path, arguments: Sequence[str]) -> Pipeline:
    return (["tshark", "-q", "-r", str(capture), *arguments],)


def _groups(capture: Path, name: str) -> list[str]:
    """The values of a key, those of which there are most messages first."""
    said = output(ours("stats", "--by", name, "--no-errors", "--format", "csv", str(capture))).decode()
    return [row[name] for row in csv.DictReader(said.splitlines()) if row[name]]


def _compare(capture: Path, keys: Sequence[str]) -> None:
    """Raises Failed unless both tell of as many messages of each operation."""
    said = output(ours(*BY_OPERATION, "--no-errors", str(capture))).decode()
    mine = {row["code"]: int(row["messages"]) for row in csv.DictReader(said.splitlines())}
    counts = [f"COUNT(kafka.len)kafka.len && kafka.api_key=={key}" for key in keys]
    found = _ROW.search(output(_tshark(capture, _stat("0", counts))))
    theirs = [] if found is None else [int(cell) for cell in found[0].split(b"|")[2:] if cell.strip()]
    if theirs != [mine[key] for key in keys]:
        raise Failed(f"tshark tells of {theirs} messages, stats of {mine}")
