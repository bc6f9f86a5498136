"""Records what the program prints, and compares: the net under changes that must not change any output.

    python -m tests.outputs record FOLDER [--every N] [CAPTURE...]
    python -m tests.outputs compare FOLDER

`record` runs every command in every format on each capture: those given, or else those of this repository and, where
they lie beside it, the shared ones. What was printed is kept in FOLDER, a file for each capture. `compare` runs the
same commands again, prints a line for each that gives something else with the first line that differs, and ends with
status 1 if there is one. `--every N` takes each Nth capture. Captures that a command only makes (exports) count by
their bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import zip_longest
from pathlib import Path

import zstandard

from tests.program import run

HERE = Path(__file__).parent
ROOT = HERE.parent
PLACES = ("captures", "tests/golden", "../shared/truth")
FORMS = ("ndjson", "json", "csv", "tsv")
KEYS = "number,time,stream,client,operation,version,latency,info,error,topic,group,path,partition,findings"
GROUPS = ("operation", "client,topic", "time")
PAGES = "pages"
"""The recording of what is printed without a capture."""

LISTS = (
    ("list",), ("list", "-w", "-v"), ("list", "-n", "--time-format", "relative"), ("list", "-e", KEYS),
    *(("list", "--format", form) for form in FORMS),
    *(("list", "--fields", "--format", form) for form in FORMS),
    ("list", "--fields", "--format", "ndjson", "--bytes-limit", "all", "--show-secrets"),
    ("list", "--format", "tsv", "-e", KEYS), ("list", "--format", "ndjson", "-e", KEYS),
    ("list", "-T", "ek"), ("list", "-T", "text"),
    ("list", "-Y", "error"), ("list", "-Y", "latency > 1ms and length > 100", "--sort", "-latency", "--head", "50"),
    ("list", "--format", "csv", "-Y", "findings"),
)  # fmt: skip
SUMMARIES = (
    ("info",), ("info", "--json"), ("stats",), ("stats", "--counts"), ("stats", "--json"),
    *(("stats", "--by", by, "--format", form) for by in GROUPS for form in ("table", "csv")),
    ("stats", "--conversations", "--json"), ("stats", "--endpoints"),
    ("doctor",), ("doctor", "-v", "-w"), *(("doctor", "--format", form) for form in FORMS),
    ("report",),
)  # fmt: skip
EXPORTS = (
    *(("ndjson", option) for option in ("--fields", "--partners")),
    ("pcapng", "--handshakes"), ("raw", "--split"), ("objects", "--show-secrets"),
)  # fmt: skip
SHOWN, FOLLOWED = 24, 4
"""Messages and connections of a capture that are looked at one by one."""

Recorded = Mapping[str, str]


def captures(every: int) -> list[Path]:
    """The captures that there are; a shared one that is also golden counts once."""
    found: dict[str, Path] = {}
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*.pcap*")):
            found.setdefault(path.name, path)
    return list(found.values())[::every]


def printed(arguments: tuple[str, ...]) -> str:
    """What a run of the program gives: its status, stdout and stderr, without the name of a capture's folder."""
    done = run(*arguments, WIREANALYZE_CONFIG=os.devnull, COLUMNS="160")
    text = done.stdout.decode("utf-8", "backslashreplace") + "\n--- stderr\n" + done.stderr.decode()
    return f"status {done.returncode}\n{text}"


def outputs(capture: Path | None) -> dict[str, str]:
    """What every command prints about a capture, or without one, by its arguments."""
    if capture is None:
        return {" ".join(command): printed(command) for command in _pages()}
    os.chdir(capture.parent)
    name = capture.name
    found = {" ".join(command): printed(command) for command in (*_of_all(name), *_singles(name))}
    for form, option in EXPORTS:
        found[f"export --as {form} {option}"] = _exported(name, form, option)
    return found


def _pages() -> Iterator[tuple[str, ...]]:
    commands = [
        line.split()[0] for line in printed(("--help",)).split("Commands:")[1].splitlines()[1:] if line[:2] == "  "
    ]
    yield ("--help",)
    yield from ((command, "--help") for command in commands if command != "---")
    yield from (("fields",), ("fields", "--json"), ("fields", "topic"), ("report",), ("list", "--columns", "list"))
    for name in ("", "findings", *_protocols()):
        page = ("protocols", *([name] if name else []))
        yield page
        yield (*page, "--json")
        if name not in ("", "findings"):
            rows = printed(page).split("\n--- stderr")[0].splitlines()[1:]
            yield from (("protocols", name, row.split("\t")[1]) for row in rows if "\t" in row)


def _protocols() -> list[str]:
    return [line.split("\t")[0] for line in printed(("protocols",)).splitlines()[1:] if "\t" in line]


def _of_all(name: str) -> Iterator[tuple[str, ...]]:
    """Commands that are about a whole capture."""
    return ((*command, name) for command in (*LISTS, *SUMMARIES))


def _singles(name: str) -> Iterator[tuple[str, ...]]:
    """Single messages, connections and reports of a capture."""
    rows = [json.loads(line) for line in run("list", "--format", "ndjson", name).stdout.splitlines()]
    for number in sorted({1 + place * max(len(rows) - 1, 0) // SHOWN for place in range(SHOWN + 1)}) if rows else ():
        yield ("show", name, str(number))
        yield ("show", "--format", "json", name, str(number))
    streams = len({row["stream"] for row in rows})
    for stream in sorted({place * streams // FOLLOWED for place in range(FOLLOWED)}) if streams else ():
        yield from (("follow", "--as", form, name, str(stream)) for form in ("dialogue", "fields", "hex", "raw"))
        yield ("follow", "--format", "ndjson", name, str(stream))
    for line in run("report").stdout.decode().splitlines():
        yield ("report", line.split()[0], "--format", "ndjson", name)
        yield ("report", line.split()[0], name)


def _exported(name: str, form: str, option: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        text = printed(("export", name, "-o", str(out), "--as", form, option)).replace(folder, "FOLDER")
        files = sorted(path for path in (out, *out.rglob("*")) if path.is_file())
        digests = [f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files]
    return "\n".join([text, *digests])


def write(folder: Path, name: str, found: Recorded) -> None:
    """Keeps what was printed about one capture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json.zst").write_bytes(zstandard.compress(json.dumps(found).encode(), 3))


def read(path: Path) -> dict[str, str]:
    """What `write` kept."""
    found: dict[str, str] = json.loads(zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read())
    return found


def first_difference(before: str, after: str) -> str:
    """The first line that differs, as it was and as it is."""
    pairs = enumerate(zip_longest(before.splitlines(), after.splitlines(), fillvalue="(nothing)"), 1)
    number, (was, now) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
    at = max(
        next((at for at, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now))) - 30, 0
    )
    return f"line {number}\n    was: {was[at : at + 200]}\n    now: {now[at : at + 200]}"


def recorded(capture: Path | None, folder: Path) -> str:
    """Records one capture; gives what to say of it."""
    found = outputs(capture)
    write(folder, PAGES if capture is None else capture.name, found)
    return f"{PAGES if capture is None else capture.name}: {len(found)} outputs\n"


def compared(capture: Path | None, folder: Path) -> str:
    """Compares one capture; gives what to say of it, nothing where all is equal."""
    name = PAGES if capture is None else capture.name
    path = folder / f"{name}.json.zst"
    if not path.exists():
        return ""
    before, after = read(path), outputs(capture)
    text = [
        f"{name}: {command}: only {'before' if command in before else 'now'}\n" for command in before.keys() ^ after
    ]
    text += [
        f"{name}: {command}: {first_difference(before[command], after[command])}\n"
        for command in before.keys() & after
        if before[command] != after[command]
    ]
    return "".join(sorted(text))


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("captures", nargs="*", type=Path)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each Nth capture")
    given = parser.parse_args()
    chosen: list[Path | None] = [None, *([path.resolve() for path in given.captures] or captures(given.every))]
    work = partial(recorded if given.action == "record" else compared, folder=given.folder.resolve())
    differ = False
    with ProcessPoolExecutor(os.cpu_count(), max_tasks_per_child=1) as workers:
        for text in workers.map(work, chosen):
            sys.stdout.write(text)
            sys.stdout.flush()
            differ |= bool(text) and given.action == "compare"
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
