"""What a ring capture has come to: batches that are done, files that were dealt with and files that wait.

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
from analyzer.tables.table_schemas import VERSION

LEDGER_NAME = "ledger.json"
OPEN_PREFIX = "open-"
"""How the folder is called, with a batch's number, that has what the next one needs."""

HEAD_BYTES = 4096
"""First bytes by which a file is known again."""

SETTLE_SECONDS = 60.0
"""Seconds in which nothing was written to a capture's newest file, after which it counts as finished."""


def make_state_error(problem: str) -> UserError:
    """Returns the error for a state that cannot be gone on with."""
    return UserError(f"{problem}. Begin again with another folder and another --state.")


def make_read_error(path: str, error: Exception) -> UserError:
    """Returns the error for a file of a state that cannot be read, or holds what this version does not write."""
    number = error.errno if isinstance(error, OSError) else None
    reason = "it is damaged, or of another version of this program" if number is None else os.strerror(number)
    return make_state_error(f"Cannot read the state {path}: {reason}")


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
class KnownFile:
    """A file that was dealt with, as it was then. taken: whether its beginning is in the tables, and if so, end: where
    reading has come to, if it can be gone on with (analyzer.capture.records.ScanState).
    """

    mark: FileMark
    taken: bool = True
    end: Sequence[Any] | None = None

    @classmethod
    def load(cls, mark: Mapping[str, Any], taken: bool, end: Sequence[Any] | None) -> Self:
        """Makes it of what asdict() gave."""
        return cls(FileMark(**mark), taken, end)


@dataclass(slots=True)
class Ledger:
    """folder: of the tables. settings: what rows depend on besides the captures; they stay as they are.

    batches: done so far. files: that are there and were dealt with, by path. waiting: paths of those that were seen and
    left alone. closed: nothing may follow.
    """

    folder: str
    settings: str
    batches: int = 0
    files: dict[str, KnownFile] = field(default_factory=dict)
    waiting: Sequence[str] = ()
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
            found.files = {path: KnownFile.load(**known) for path, known in values["files"].items()}
        except FileNotFoundError:
            return cls(folder, settings)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise make_read_error(path, error) from error
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

    @property
    def opened(self) -> str:
        """The name of the folder of the last batch; nothing before the first."""
        return f"{OPEN_PREFIX}{self.batches}" if self.batches else ""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What a batch does with files, by path, in the order of the captures: those it reads, leaves alone, cannot read
    and why.

    grown: of those that it reads, where it reads on, for their beginning was read before.
    """

    new: Mapping[str, FileMark]
    grown: Mapping[str, Sequence[Any]]
    waiting: tuple[str, ...]
    lost: Mapping[str, str]


def plan_files(
    files: Mapping[str, KnownFile],
    captures: Mapping[str, str],
    waiting: Iterable[str] = (),
    *,
    settle: float,
    close: bool = False,
) -> FilePlan:
    """Plans what to do with each file. files: known ones. captures: the capture name of each path that was found.

    waiting: paths that were left alone before.
    """
    new: dict[str, FileMark] = {}
    grown: dict[str, Sequence[Any]] = {}
    away = [path for path in waiting if path not in captures and path not in files]
    missing = find_missing(away)
    # The others are of sources that were not given now, or of a file system that is not mounted.
    still = [path for path in away if path not in missing]
    lost = dict.fromkeys(missing, "it vanished before it was read")
    newest = _find_newest(captures)
    for path, capture in captures.items():
        known = files.get(path)
        try:
            mark = FileMark.from_file(path, None if known is None else known.mark)
        except OSError as error:
            lost[path] = f"it cannot be read: {error.strerror or error}"
            continue
        same = known if known is not None and known.taken and known.mark.head == mark.head else None
        if (known is not None and known.mark == mark) or (same is not None and same.mark.size == mark.size):
            continue
        if same is not None and (mark.size < same.mark.size or same.end is None):
            lost[path] = _describe_change(same.mark, mark)
        elif not close and _is_unfinished(path, mark, settle, path == newest[capture]):
            still.append(path)
        else:
            if same is not None and same.end is not None:
                grown[path] = same.end
            new[path] = mark if known is None else FileMark.from_file(path)
    return FilePlan(new, grown, tuple(still), lost)


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


def record_files(
    files: Mapping[str, KnownFile], plan: FilePlan, taken: Mapping[str, Sequence[Any] | None]
) -> dict[str, KnownFile]:
    """Returns the known files after a plan was carried out; those that are gone by now are forgotten.

    What has changed since the plan was made is for the next one. taken: those of which something is in the tables, and
    where reading them can be gone on with.
    """
    found = dict(files)
    for path in (*plan.new, *plan.lost):
        mark, known = plan.new.get(path), files.get(path)
        if mark is None:
            try:
                mark = FileMark.from_file(path)
            except OSError:
                continue
        if path in taken:
            found[path] = KnownFile(mark, True, taken[path])
        else:
            before = known is not None and known.taken
            found[path] = KnownFile(mark, before, known.end if known is not None and path in plan.new else None)
    missing = find_missing(found)
    return {path: known for path, known in found.items() if path not in missing}


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
