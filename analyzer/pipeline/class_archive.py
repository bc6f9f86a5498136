"""An archive of the classes that Spark's driver loads, in the user's cache: with it, Java starts at half the cost.

Theory. Most of the start is Java's reading and linking of thousands of classes. It can write them to a file when it
ends (dynamic class data sharing), and map that file when it starts again. To write it costs as much as six starts
save, and 140 MB; so runs leave marks, the sixth one writes the archive, and those that follow read it. It is called by
the Java and the libraries that it is made of, and those of others go. Java itself refuses one that does not fit, and
works without; but it crashes with one that was cut, so an archive is removed if Java ends before its time.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Self

RUNS = 5
"""Runs that are counted before one writes the archive."""

WRITE_SECONDS = 300
"""A Java that has not ended by then is killed, and no archive is tried again."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive of one Java with its libraries. new: where Java writes it now, if it does."""

    path: Path
    new: Path | None = None

    @classmethod
    def find(cls, java: str, class_path: str) -> Self | None:
        """Returns the archive for a Java; None if there is none yet, or cannot be one."""
        places = [os.path.realpath(java), *class_path.split(":")]
        parts = [f"{place} {os.stat(place).st_mtime_ns if os.path.exists(place) else 0}" for place in places]
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        path = Path(cache, "wireanalyze", f"spark-{sha256(os.fsencode('|'.join(parts))).hexdigest()[:16]}.jsa")
        marks = path.with_suffix(".runs")
        if not path.is_absolute():
            return None
        with suppress(OSError):
            if path.exists():
                return cls(path) if path.stat().st_size else None
            path.parent.mkdir(parents=True, exist_ok=True)
            with marks.open("ab") as file:
                if file.tell() >= RUNS:
                    return cls(path, path.with_suffix(f".{os.getpid()}"))
                file.write(b".")
        return None

    @property
    def option(self) -> str:
        """Returns the option for Java."""
        return f"-XX:SharedArchiveFile={self.path}" if self.new is None else f"-XX:ArchiveClassesAtExit={self.new}"

    def await_writing(self, java: subprocess.Popen[bytes]) -> None:
        """Waits for the end of a Java that writes the archive; an empty file says that it could not."""
        if self.new is None:
            return
        try:
            java.wait(WRITE_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            java.kill()
            java.wait()
            with suppress(OSError):
                if java.returncode == 0 and self.new.exists():
                    with self.new.open("rb") as file:
                        os.fsync(file.fileno())
                    self.new.replace(self.path)
                    self._remove_others()
                else:
                    self.new.unlink(missing_ok=True)
                    self.path.touch()

    def remove(self) -> None:
        """Removes the archive after Java has failed with it; a later run writes another."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _remove_others(self) -> None:
        """Removes archives and marks of other Javas and libraries, but for what a run may be writing now."""
        for old in self.path.parent.glob("spark-*"):
            if old.stem != self.path.stem and old.stat().st_mtime < time.time() - WRITE_SECONDS:
                old.unlink()
