"""What a ring capture has come to: batches that are done, files that were read, that wait, that could not be read.

Theory. One small file is the state's heart, and replacing it is the step that makes a batch done (commit.py). It is
written anew each time, so it knows only files that are still there: of a ring that turns for years it stays small. A
file is known by its name, its size, its time and its first bytes; rings write new captures under old names.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from analyzer.errors import UserError
from analyzer.pipeline.commit import write_atomically
from analyzer.pipeline.table_schemas import VERSION

LEDGER_NAME = "ledger.json"
OPEN_PREFIX = "open-"
"""How the folder is called, with a batch's number, that has what the next one needs."""

HEAD_BYTES = 4096
"""First bytes by which a file is known again."""

SETTLE_SECONDS = 60.0
"""Seconds in which nothing was written to a capture's newest file, after which it counts as finished."""


@dataclass(frozen=True, slots=True)
class FileMark:
    """How a file is known again: its size, its time of change (ns), the hash of its first bytes."""

    size: int
    changed: int
    head: str

    @classmethod
    def from_file(cls, path: str, like: FileMark | None = None) -> Self:
        """Returns the file as it is now.

        like: a mark of earlier; if the first bytes are the same, then also their hash.
        """
        status = os.stat(path)
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES if like is None else min(HEAD_BYTES, like.size))
        return cls(status.st_size, status.st_mtime_ns, hashlib.sha256(head).hexdigest()[:32])


@dataclass(frozen=True, slots=True)
class FileTrouble:
    """Why a file is not in the tables, or not whole; batch: in which this was found out."""

    reason: str
    batch: int
    mark: FileMark | None


@dataclass(slots=True)
class Ledger:
    """folder: of the tables. settings: what rows depend on besides the captures; they stay as they are.

    batches: done so far. captures: number of each by name. read, waiting: files that are there, by path; waiting ones
    were seen and left alone. ends: where reading has come to in those that were read
    (analyzer.capture.records.ScanState). quarantined: see Trouble. opened: the folder of the last batch, within that of
    the state. closed: nothing may follow.
    """

    folder: str
    settings: str
    batches: int = 0
    captures: dict[str, int] = field(default_factory=dict)
    read: dict[str, FileMark] = field(default_factory=dict)
    ends: dict[str, Sequence[Any]] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    quarantined: dict[str, FileTrouble] = field(default_factory=dict)
    opened: str = ""
    closed: bool = False

    @classmethod
    def load(cls, state: str, folder: str, settings: str) -> Self:
        """Returns the ledger of a state, or a new one.

        Raises UserError if it is of other tables or settings, or unreadable.
        """
        path = os.path.join(state, LEDGER_NAME)
        try:
            with open(path, "rb") as file:
                values = json.load(file)
            if (version := values.pop("version")) != VERSION:
                # A ledger had a version of its own, 1, as long as tables had version 2.
                raise UserError(
                    f"{state} belongs to tables of version {max(version, 2)}, but this program writes version "
                    f"{VERSION}. Give another --state and another folder, or use the program that wrote them."
                )
            found = cls(**values)
            found.read = {path: FileMark(**mark) for path, mark in values["read"].items()}
            found.quarantined = {path: _load_trouble(**trouble) for path, trouble in values["quarantined"].items()}
        except FileNotFoundError:
            return cls(folder, settings)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"Cannot read {path}: {error}. Give the --state of an earlier run, or a new folder."
            ) from error
        if found.folder != folder:
            raise UserError(
                f"{state} belongs to the tables in {found.folder}. Give -o {found.folder}, or another --state."
            )
        if found.settings != settings:
            raise UserError(
                f"{state} was begun with other options ({found.settings}). Give the same options, or another --state."
            )
        return found

    def save(self, state: str) -> None:
        """Replaces the ledger in one step. Raises OSError."""
        write_atomically(
            os.path.join(state, LEDGER_NAME), json.dumps({"version": VERSION, **asdict(self)}, indent=1).encode()
        )

    def number_capture(self, name: str) -> int:
        """Returns the number of a capture, given now if it is new."""
        return self.captures.setdefault(name, len(self.captures))


def _load_trouble(reason: str, batch: int, mark: Mapping[str, Any] | None) -> FileTrouble:
    return FileTrouble(reason, batch, None if mark is None else FileMark(**mark))


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What a batch does with files, by path, in the order of the captures: those it reads, leaves alone, has in
    quarantine now and why.

    grown: of those that it reads, where it reads on, for their beginning was read before.
    """

    new: Mapping[str, FileMark]
    grown: Mapping[str, Sequence[Any]]
    waiting: tuple[str, ...]
    lost: Mapping[str, str]


def plan_files(ledger: Ledger, captures: Mapping[str, str], *, settle: float, close: bool) -> FilePlan:
    """Plans what to do with each file. captures: the capture name of each path that was found."""
    new: dict[str, FileMark] = {}
    grown: dict[str, Sequence[Any]] = {}
    waiting: list[str] = []
    away = [path for path in ledger.waiting if path not in captures and not _is_known(ledger, path)]
    missing = find_missing(away)
    # Of other sources than those that were given now, or of a file system that is not mounted.
    waiting += (path for path in away if path not in missing)
    lost = dict.fromkeys(missing, "it vanished before it was read")
    newest = _find_newest(captures)
    for path, capture in captures.items():
        try:
            known = ledger.read.get(path) or _find_mark(ledger, path)
            mark = FileMark.from_file(path, known)
        except OSError as error:
            lost[path] = f"it cannot be read: {error.strerror or error}"
            continue
        same = path in ledger.read and known is not None and mark.head == known.head
        if known == mark or (same and known is not None and mark.size == known.size):
            continue
        if same and known is not None and (mark.size < known.size or path not in ledger.ends):
            lost[path] = _describe_change(known, mark)
        elif not close and _is_unfinished(path, mark, settle, path == newest[capture]):
            waiting.append(path)
        else:
            if same:
                grown[path] = ledger.ends[path]
            new[path] = mark if known is None else FileMark.from_file(path)
    return FilePlan(new, grown, tuple(waiting), lost)


def _is_known(ledger: Ledger, path: str) -> bool:
    return path in ledger.read or path in ledger.quarantined


def _find_mark(ledger: Ledger, path: str) -> FileMark | None:
    trouble = ledger.quarantined.get(path)
    return None if trouble is None else trouble.mark


def _describe_change(known: FileMark, mark: FileMark) -> str:
    if mark.size > known.size:
        return f"it has grown since it was read: its last {mark.size - known.size:,} bytes are not in the tables"
    return "it has changed since it was read: what is new in it is not in the tables"


def _find_newest(captures: Mapping[str, str]) -> dict[str, str]:
    """Of each capture the file that was written to last."""
    times: dict[str, tuple[int, str]] = {}
    for path, capture in captures.items():
        with suppress(OSError):
            times[capture] = max(times.get(capture, (0, "")), (os.stat(path).st_mtime_ns, path))
    return {capture: path for capture, (_, path) in times.items()}


def _is_unfinished(path: str, mark: FileMark, settle: float, newest: bool) -> bool:
    """Whether more is to be expected: somebody has it open to write, or may have it and wrote not long ago."""
    written = is_open_for_writing(path)
    fresh = time.time() - mark.changed / 1e9 < settle
    return bool(written) or (fresh and (newest or written is None))


def is_open_for_writing(path: str) -> bool | None:
    """Returns whether a process of this machine has the file open to write; None where the system does not tell.

    A read lease (fcntl(2), Linux) is given only on a file that nobody writes, to its owner.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Who opens it to write while the lease is held makes the system send a signal, by default a deadly one.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False


def record_batch(
    ledger: Ledger,
    planned: Mapping[str, FileMark],
    read: Mapping[str, FileMark],
    ends: Mapping[str, Sequence[Any]],
    troubles: Mapping[str, str],
    batch: int,
) -> None:
    """What a batch has done, into the ledger; files that are gone by now and were dealt with are forgotten.

    planned: files as they were when the batch began; what has changed since is for the next one. ends: of files that
    were read, where reading has come to, if it can be gone on with.
    """
    ledger.read.update(read)
    ledger.ends = {path: end for path, end in {**ledger.ends, **ends}.items() if path in ends or path not in read}
    for path, reason in troubles.items():
        mark = planned.get(path)
        if mark is None:
            with suppress(OSError):
                mark = FileMark.from_file(path)
        ledger.quarantined[path] = FileTrouble(reason, batch, mark)
        if mark is not None and path in ledger.read:
            ledger.read[path] = mark
    missing = find_missing([*ledger.read, *ledger.quarantined])
    ledger.quarantined = {
        path: trouble for path, trouble in ledger.quarantined.items() if trouble.batch == batch or path not in missing
    }
    ledger.read = {path: mark for path, mark in ledger.read.items() if path not in missing}
    ledger.ends = {path: end for path, end in ledger.ends.items() if path in ledger.read}
    ledger.batches = batch


def find_missing(paths: Iterable[str]) -> set[str]:
    """Returns the paths that no longer exist; an empty folder may be unmounted, so nothing is missing there."""
    empty: dict[str, bool] = {}
    return {path for path in paths if _is_missing(path) and not _is_below_empty(os.path.dirname(path), empty)}


def _is_missing(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _is_below_empty(folder: str, known: dict[str, bool]) -> bool:
    """Whether the folder, or the next one above it that is there, is empty or can't be looked into."""
    if folder not in known:
        try:
            known[folder] = not os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            known[folder] = _is_below_empty(os.path.dirname(folder), known)
        except OSError:
            known[folder] = True
    return known[folder]
