"""A network and mount namespace in which everybody may read this interpreter and this checkout, and what runs there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.namespaces import in_namespace

ROOT = Path(__file__).parents[3]
TRIAL = Path(__file__).with_name("trial.py")
PATIENCE = 60.0
NOBODY = 65534
USER = "setpriv --reuid=65534 --regid=65534 --clear-groups"
ABLE = f"{USER} --inh-caps=+net_raw,+net_admin --ambient-caps=+net_raw,+net_admin"
SUDOER = (
    "mount -t tmpfs -o mode=755 none /etc/sudoers.d && "
    "echo 'nobody ALL=(root) NOPASSWD: ALL' >/etc/sudoers.d/test && chmod 440 /etc/sudoers.d/test"
)
DUMPCAP = (
    "mkdir /mnt/bin && cp $(command -v dumpcap) /mnt/bin && chmod 755 /mnt/bin/dumpcap && "
    "setcap cap_net_raw,cap_net_admin+eip /mnt/bin/dumpcap && export PATH=/mnt/bin:$PATH"
)
"""Only there: who nobody is to sudo, and a dumpcap that may capture."""


def _closed(path: str) -> str | None:
    """The highest folder on the way to it that only its owner may enter."""
    return next((str(each) for each in reversed(Path(path).parents) if not each.stat().st_mode & 1), None)


def opened() -> str:
    """Commands that leave nothing of closed folders but what is needed of them, in this namespace alone."""
    needed = {path: top for path in (sys.base_prefix, sys.prefix, str(ROOT)) if (top := _closed(path)) is not None}
    lines = ["mount -t tmpfs -o mode=755 none /mnt"]
    lines += [f"mkdir /mnt/{n} && mount --bind {shlex.quote(path)} /mnt/{n}" for n, path in enumerate(needed)]
    lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(top)}" for top in sorted(set(needed.values()))]
    quoted = [(n, shlex.quote(path)) for n, path in enumerate(needed)]
    lines += [f"mkdir -p {path} && mount --bind /mnt/{n} {path}" for n, path in quoted]
    return " && ".join(lines)


def world(script: str) -> list[str]:
    """A command that runs a shell script there."""
    command = in_namespace(f"{opened()} && {script}")
    return [command[0], "--mount", *command[1:]]


def python(*arguments: str) -> str:
    """The line of a script that runs this interpreter on this checkout."""
    return f"env PYTHONPATH={shlex.quote(str(ROOT))} {shlex.join([sys.executable, *arguments])}"


def trial(via: str, path: Path | None = None, **more: Any) -> str:
    """The line of a script that runs a trial on lo."""
    requested = {"interfaces": ["lo"], "buffer": 4 << 20, **more.pop("asked", {})}
    wanted = {"asked": requested, "via": via, "path": None if path is None else str(path), **more}
    return python(str(TRIAL), json.dumps(wanted))


def told(script: str) -> list[dict[str, Any]]:
    """What the trials of a script say."""
    done = subprocess.run(world(script), capture_output=True, text=True, check=False, timeout=PATIENCE, cwd="/")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that everybody may write to; pytest's own are behind one that is closed."""
    folder = Path(tempfile.mkdtemp(prefix="test-live-"))
    try:
        os.chmod(folder, 0o777)
        yield folder
    finally:
        shutil.rmtree(folder)
