"""Clients that are written in Go: built once by the `go` that is installed, and kept beside the jars.

Theory. A folder has a program and the two files that say which modules it needs and what these must weigh (go.sum), so
what is built is the same everywhere; from where modules come is the user's own setting (GOPROXY). What was built is
named for the contents of the folder.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.brokers.lab.maven import cache
from tests.brokers.lab.missing import Missing

PATIENCE = 300.0
"""Seconds for a first build, which fetches and compiles all modules."""


def built(folder: Path, name: str) -> Path:
    """The program of that folder. Raises Missing where it cannot be built."""
    sources = sorted(path for path in folder.iterdir() if path.suffix in (".go", ".mod", ".sum"))
    digest = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sources)).hexdigest()
    program = cache() / f"{name}-{digest[:12]}"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise Missing("no go: a client is written in it")
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache(), prefix="building-") as place:
        made = Path(place) / name
        command = [go, "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-o", str(made), "."]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise Missing(f"a client in Go was not built in {PATIENCE:.0f} s") from None
        if done.returncode:
            raise Missing(f"a client in Go cannot be built: {' '.join(done.stderr.split())[:600]}")
        made.rename(program)
    return program
