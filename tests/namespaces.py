"""Network namespaces of a test's own, and why there can't be one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache

import pytest


def in_namespace(script: str) -> list[str]:
    """A command that runs a shell script in a namespace of its own, where nothing but lo is up; ends with it."""
    return ["unshare", "--net", "sh", "-c", f"ip link set lo up && {script}"]


@cache
def why_not() -> str | None:
    """Why there can be no namespace; None where there can."""
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None or shutil.which("ip") is None:
        return "needs Linux with unshare and ip"
    tried = subprocess.run(in_namespace("true"), capture_output=True, check=False)
    return None if tried.returncode == 0 else "needs the right to make a network namespace"


privileged = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
