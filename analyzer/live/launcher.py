"""Starts the capturing process: with our own right, by sudo, or with dumpcap.

Theory. Only the capturing process needs the right to open an interface. There are three ways to get it:

- Its parent has the right: root, which the analyzer gives up afterwards, or a user with CAP_NET_RAW.
- sudo starts the capturing process, and nothing else.
- It has no right and takes packets from dumpcap, which has the right if Wireshark is set up so.

A capability of the Python interpreter (setcap) is not used: every script on the machine would have the right.
"""

from __future__ import annotations

import grp
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import IO, Literal

from analyzer.errors import CaptureError
from analyzer.live.capture_request import CaptureRequest
from analyzer.live.interfaces import may_capture
from analyzer.live.privilege import ROOT, SUDO_GROUP, SUDO_USER, Identity, choose_identity

Via = Literal["auto", "self", "sudo", "dumpcap"]

SNIFFER = "analyzer.live.sniffer"
DUMPCAP = "dumpcap"
"""Argument that makes the sniffer take packets from dumpcap."""

LOOPBACK = "lo" if sys.platform.startswith("linux") else "lo0"
QUICK = 5.0
"""Seconds that dumpcap has to report whether it may capture."""

BY_DUMPCAP = (
    "dumpcap captures, because you may use it but may not capture yourself. It reports packets that the kernel dropped "
    "at the end only."
)


@dataclass(frozen=True, slots=True)
class CaptureProcess:
    """Holds a capturing process; process.stdin and process.stdout are unbuffered pipes.

    errors: a file with its standard error, and that of sudo. becoming: the user that the analyzer must become. notes:
    sentences for the user. prompts: a password may have to be typed first.
    """

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    becoming: Identity
    notes: tuple[str, ...] = ()
    prompts: bool = False

    def last_words(self) -> str:
        """Returns the last line on standard error; empty if there is none."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def start_capture_process(request: CaptureRequest, via: Via = "auto") -> CaptureProcess:
    """Starts the capturing process. Raises CaptureError if we would stay root, or if no way is open."""
    becoming = choose_identity(request.user)
    if via == "sudo" and request.remote and not request.is_remote:
        raise CaptureError(
            "--via sudo: ssh would run as root, with root's keys. Capture on ssh:// with a command of its own."
        )
    taken = "self" if request.is_remote else _open(via)
    way = _WAYS[taken](request, becoming)
    return replace(way, notes=(BY_DUMPCAP,)) if (via, taken) == ("auto", "dumpcap") else way


def can_use_dumpcap() -> bool:
    """Returns whether dumpcap exists, we may run it, and it may open an interface; it has to open one."""
    dumpcap = shutil.which("dumpcap")
    if dumpcap is None:
        return False
    try:
        request = subprocess.run([dumpcap, "-i", LOOPBACK, "-L"], capture_output=True, timeout=QUICK, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return request.returncode == 0


def explain_denial() -> str:
    """Returns the sentence for a user who may not capture: the ways to get the right."""
    user = choose_identity("").name if os.geteuid() != ROOT else "root"
    return (
        f"{user} may not capture. Give --via sudo, so that sudo starts only the capturing process; or "
        f"{_way_to_dumpcap(user)}; or use a pipe: sudo tcpdump -U -w - | wireanalyze open -. "
        "Do not use setcap on the Python interpreter, because every script would have the right."
    )


def _way_to_dumpcap(user: str) -> str:
    """Returns what this user must do so that dumpcap may capture."""
    if not sys.platform.startswith("linux"):
        return "install Wireshark's ChmodBPF"
    # shutil.which finds only programs that we may execute.
    found = next((path for path in (f"{each}/dumpcap" for each in os.get_exec_path()) if os.path.exists(path)), None)
    if found is None or os.stat(found).st_gid == ROOT:
        return "set up dumpcap for its group (Debian, Ubuntu: sudo dpkg-reconfigure wireshark-common) and join that"
    try:
        group = grp.getgrgid(os.stat(found).st_gid).gr_name
    except KeyError:
        group = str(os.stat(found).st_gid)
    return f"join dumpcap's group (sudo usermod -aG {group} {user}, then log in again)"


def _open(via: Via) -> Via:
    """Returns the way to use. Raises CaptureError."""
    if os.geteuid() == ROOT:
        if via == "dumpcap":
            raise CaptureError("--via dumpcap is not for root, who may capture anyway. Leave it out.")
        if not may_capture():
            raise CaptureError("Even root may not capture here. A container needs CAP_NET_RAW (--cap-add NET_RAW).")
        return "self"
    if via == "auto":
        via = "self" if may_capture() else "dumpcap"
        if via == "dumpcap" and not can_use_dumpcap():
            raise CaptureError(explain_denial())
    if via == "self" and not may_capture():
        raise CaptureError(explain_denial())
    if via == "dumpcap" and shutil.which("dumpcap") is None:
        raise CaptureError("--via dumpcap: There is no dumpcap that you may run. Install Wireshark's, or "
                           f"{_way_to_dumpcap(choose_identity('').name)}.")  # fmt: skip
    if via == "sudo" and shutil.which("sudo") is None:
        raise CaptureError("--via sudo: There is no sudo on this machine. Leave out --via to see other ways.")
    return via


def _command(request: CaptureRequest) -> list[str]:
    return [sys.executable, "-P", "-m", SNIFFER, request.to_json()]


def _popen(command: list[str], environment: dict[str, str] | None = None, apart: bool = True) -> tuple[
    subprocess.Popen[bytes], IO[bytes]
]:  # fmt: skip
    """Starts a process. Its standard error goes to a file without a name, so the process never waits for us."""
    try:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 (the owner of the process closes it)
    except OSError as error:
        raise CaptureError(f"Cannot create temporary files: {error.strerror}. Set TMPDIR to another folder.") from None
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0, env=environment,
            start_new_session=apart,
        )  # fmt: skip
    except OSError as error:
        errors.close()
        raise CaptureError(f"Cannot start {command[0]}: {error.strerror}.") from None
    return process, errors


def _by_itself(request: CaptureRequest, becoming: Identity) -> CaptureProcess:
    """Starts it with our right. A named user precedes the caller of sudo, and only we can pass that on (give_up)."""
    environment = dict(os.environ)
    if request.user:
        for name in (SUDO_USER, SUDO_GROUP):
            environment.pop(name, None)
    return CaptureProcess(*_popen(_command(request), environment), becoming)


def _by_sudo(request: CaptureRequest, becoming: Identity) -> CaptureProcess:
    """Starts it by sudo. sudo asks for a password on our terminal, so the process stays in our session.

    sudo clears the environment, but the process may need PYTHONPATH. Python must not write compiled files, which root
    would own.
    """
    path = os.environ.get("PYTHONPATH")
    python, *rest = _command(replace(request, user=""))
    command = [*(["env", f"PYTHONPATH={path}"] if path else []), python, "-B", *rest]
    terminal = _has_terminal()
    sudo = ["sudo", "-p", "[sudo] password for %p, to capture: "] if terminal else ["sudo", "-n"]
    return CaptureProcess(*_popen([*sudo, "--", *command], apart=not terminal), becoming, prompts=terminal)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


_WAYS: dict[Via, Callable[[CaptureRequest, Identity], CaptureProcess]] = {
    "self": _by_itself,
    "sudo": _by_sudo,
    "dumpcap": lambda request, becoming: CaptureProcess(*_popen([*_command(request), DUMPCAP]), becoming),
}
