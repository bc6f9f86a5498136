"""Drops privileges: sets the user of a process and gives up all other rights.

Theory. Opening an interface needs a right (on Linux CAP_NET_RAW, which root has). Writing packets to a file needs none,
and decoding untrusted bytes should have none. So a process that has opened what it needs becomes an ordinary user for
good. It sets groups, then the user. On Linux it also drops every capability and the bounding set, and no_new_privs
closes the way back through set-user-id programs. Each step comes before the loss of the capability that it needs:
dropping the bounding set needs one, groups and users need two others, and capset drops the rest.

Capabilities and no_new_privs belong to threads, and a new thread inherits them. So this runs while there is only one
thread, and checks all threads before it reports success. A terminal interface that is open already has several. It may
begin a capture only if it never had a right: then there is nothing to give up, and dumpcap has its right from its file.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from analyzer.errors import CaptureError

SUDO_USER, SUDO_GROUP = "SUDO_UID", "SUDO_GID"
ROOT = 0

SET_DUMPABLE, SET_KEEP_CAPABILITIES, DROP_BOUND, SET_NO_NEW_PRIVILEGES = 4, 8, 24, 38
AMBIENT, CLEAR_ALL = 47, 4
CAPABILITIES_VERSION_3 = 0x20080522
MAY_SET_CAPABILITIES = 8
HIGHEST = 63
"""The last capability that a set of 64 bits could have; the kernel refuses unknown ones."""

SETS = ("CapInh", "CapPrm", "CapEff", "CapAmb")
BOUND = "CapBnd"

OF_SOMEBODY_ELSE = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
"""Environment variables that name folders of the previous user."""

REFUSED = (
    "You are root, and network data should not be decoded as root. Run the program as yourself with --via sudo, or "
    "give -Z USER to become another user once the interfaces are open, such as -Z nobody. -Z root stays root."
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Describes a user. home: None if it is unknown."""

    name: str
    uid: int
    gid: int
    home: str | None

    @property
    def groups(self) -> list[int]:
        """Returns all groups of the user; only the user's own group if the system has no name for the user."""
        return os.getgrouplist(self.name, self.gid) if self.home is not None else [self.gid]


def choose_identity(user: str) -> Identity:
    """Returns the user to become: the named one; else, behind sudo, the caller of sudo; else the present one.

    Raises CaptureError for an unknown user, for one that we cannot become, and for root unless it was named.
    """
    if user:
        found = _find_by_name(user)
        if found.uid != os.geteuid() and os.geteuid() != ROOT:
            raise CaptureError(f"-Z {user}: Only root can become another user. Leave it out.")
        return found
    found = _behind_sudo() or _find_by_ids(os.getuid(), os.getgid())
    if found.uid == ROOT:
        raise CaptureError(REFUSED)
    return found


def give_up(user: str) -> None:
    """Makes the capturing process run as an ordinary user for good.

    Behind sudo it becomes the caller of sudo, whatever `user` is: a sudoers rule that allows this program must not let
    its caller become another user. The process leaves no core dump, and no other process of the user can trace it or
    take its open interface. Raises CaptureError, also if any right remains.
    """
    become(_behind_sudo() or choose_identity(user))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if _linux():
        _prctl(SET_DUMPABLE, 0)


def become(who: Identity) -> None:
    """Becomes a user for good, with only that user's rights, and checks that it worked.

    Replaces the environment if it was another user's. An ordinary process with several threads stays as it is. Raises
    CaptureError.
    """
    if _linux() and len(os.listdir("/proc/self/task")) > 1:
        if _is_ordinary(who):
            return
        raise CaptureError(
            "A program that is open already cannot give up its right to capture. Start another one for it: "
            "wireanalyze open -i INTERFACE. Nothing is captured."
        )
    bounded = _linux() and bool(int(_status()["CapEff"], 16) >> MAY_SET_CAPABILITIES & 1)
    other = who.uid != os.getuid()
    try:
        if _linux():
            _narrow(bounded)
        _switch(who)
        if _linux():
            _drop_all()
    except OSError as error:
        raise CaptureError(f"Cannot drop privileges: {error.strerror}. Nothing is captured.") from None
    _examine(who, bounded)
    if other:
        _live_as(who)
    _examine_installation(who)


@contextmanager
def impersonate_sudo_caller() -> Iterator[None]:
    """Lets this process read files as the caller of sudo, with that user's home, until the block ends.

    Otherwise a sudoers rule that allows this program would let its arguments read files that only root may read. Raises
    CaptureError if that does not work.
    """
    who = _behind_sudo()
    with nullcontext() if who is None else _impersonate(who):
        yield


@contextmanager
def _impersonate(who: Identity) -> Iterator[None]:
    """Lets root access files as a user, with that user's environment, until the block ends."""
    environment, gid, groups, folder = dict(os.environ), os.getegid(), os.getgroups(), tempfile.tempdir
    try:
        os.setgroups(who.groups)
        os.setegid(who.gid)
        os.seteuid(who.uid)
    except OSError as error:
        raise CaptureError(f"Cannot become {who.name}: {error.strerror}. Nothing is captured.") from None
    try:
        _live_as(who)
        yield
    finally:
        os.seteuid(ROOT)
        os.setegid(gid)
        os.setgroups(groups)
        os.environ.clear()
        os.environ |= environment
        tempfile.tempdir = folder


def check_environment(user: str, write: str | None) -> None:
    """Checks before a capture that the user whom root will become can run the program and write the files.

    user, write: the arguments of -Z and -w. Raises CaptureError with the remedy.
    """
    if os.geteuid() != ROOT:
        return
    who = choose_identity(user)
    if who.uid == ROOT:
        return
    with _impersonate(who):
        _examine_installation(who)
        problem = _find_write_problem(who, write)
    if problem is not None:
        raise CaptureError(problem)


def _find_write_problem(who: Identity, write: str | None) -> str | None:
    """Returns why this process, which acts as a user, could not write the files of a capture, else None."""
    if write is None:
        try:
            tempfile.gettempdir()
        except FileNotFoundError:
            return f"{who.name} may write to no temporary folder. Set TMPDIR to one, or give -w FILE."
        return None
    place = write if os.path.exists(write) else os.path.dirname(write) or os.curdir
    if os.access(place, os.W_OK, effective_ids=True):
        return None
    path = os.path.abspath(place)
    return f"{who.name} may not write to {path}. Run chown {who.name} {path}, or write to another folder with -w."


def _behind_sudo() -> Identity | None:
    """Returns the caller of sudo; None without sudo, or if root called it."""
    uid, gid = os.environ.get(SUDO_USER, ""), os.environ.get(SUDO_GROUP, "")
    if os.geteuid() != ROOT or not (uid.isdecimal() and gid.isdecimal()) or int(uid) == ROOT:
        return None
    return _find_by_ids(int(uid), int(gid))


def _find_by_name(user: str) -> Identity:
    try:
        entry = pwd.getpwnam(user)
    except (KeyError, ValueError):
        raise CaptureError(f"-Z {user}: There is no such user on this machine.") from None
    return Identity(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir)


def _find_by_ids(uid: int, gid: int) -> Identity:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:  # for example, a container that runs as a numeric user
        return Identity(str(uid), uid, gid, None)
    return Identity(entry.pw_name, uid, gid, entry.pw_dir)


def _switch(who: Identity) -> None:
    """Sets the groups, then the user, of all threads."""
    if os.geteuid() == ROOT and set(os.getgroups()) != set(who.groups):
        os.setgroups(who.groups)
    if _linux():
        os.setresgid(who.gid, who.gid, who.gid)
        os.setresuid(who.uid, who.uid, who.uid)
    else:  # for root this sets all user ids
        os.setgid(who.gid)
        os.setuid(who.uid)


def _linux() -> bool:
    return sys.platform.startswith("linux")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    """Calls prctl. Raises OSError."""
    arguments = [ctypes.c_ulong(each) for each in (value, 0, 0, 0)]
    if _libc().prctl(option, *arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _narrow(bounded: bool) -> None:
    """Limits the rights that programs run by us could gain. Dropping the bounding set needs a capability."""
    for capability in range(HIGHEST + 1) if bounded else ():
        try:
            _prctl(DROP_BOUND, capability)
        except OSError:  # the kernel knows no higher capability
            break
    _prctl(AMBIENT, CLEAR_ALL)
    _prctl(SET_KEEP_CAPABILITIES, 0)


def _drop_all() -> None:
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: twice 32 bits each
    if _libc().capset(header, nothing):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    _prctl(SET_NO_NEW_PRIVILEGES, 1)


def _status(of: Path = Path("/proc/self")) -> dict[str, str]:
    """Returns the kernel's status of a process or thread."""
    lines = (line.partition(":") for line in (of / "status").read_text().splitlines())
    return {name: value.strip() for name, _, value in lines}


def _list_remaining(who: Identity, bounded: bool) -> Iterator[str]:
    """Yields the rights that threads of this process still have."""
    for thread in sorted(Path("/proc/self/task").iterdir()):
        try:
            found = _status(thread)
        except FileNotFoundError:  # the thread has ended
            continue
        yield from (name for name in (*SETS, *([BOUND] if bounded else [])) if int(found[name], 16))
        if found["NoNewPrivs"] != "1":
            yield "a way to new privileges"
        if found["Uid"].split() != [str(who.uid)] * 4 or found["Gid"].split() != [str(who.gid)] * 4:
            yield "another user or group"


def _is_ordinary(who: Identity) -> bool:
    """Returns whether this process is a user's who is not root, without any capability."""
    status = _status()
    return who.uid != ROOT and status["Uid"].split() == [str(who.uid)] * 4 and not any(int(status[n], 16) for n in SETS)


def _examine(who: Identity, bounded: bool) -> None:
    if _linux():
        left = list(dict.fromkeys(_list_remaining(who, bounded)))
    else:
        left = [] if (os.getuid(), os.geteuid()) == (who.uid, who.uid) else ["another user"]
    if left:
        raise CaptureError(f"Cannot drop all privileges: {', '.join(left)} remained. Nothing is captured.")


def _live_as(who: Identity) -> None:
    for name in OF_SOMEBODY_ELSE:
        os.environ.pop(name, None)
    tempfile.tempdir = None  # another user may write elsewhere
    os.environ |= {"USER": who.name, "LOGNAME": who.name} | ({"HOME": who.home} if who.home is not None else {})


def _examine_installation(who: Identity) -> None:
    """Checks that the user can run the interpreter and read the modules, which are imported when needed."""
    packages = (find_spec(name) for name in ("analyzer", "numpy"))
    needed = [os.__file__, *(found.origin for found in packages if found is not None and found.origin is not None)]
    for path, may in (*((path, os.R_OK) for path in needed), (sys.executable, os.R_OK | os.X_OK)):
        if not os.access(path, may, effective_ids=os.access in os.supports_effective_ids):
            raise CaptureError(
                f"{who.name} may not read {path}, which this program needs. Install the program where every user may "
                "read it, such as in /opt, or give another user with -Z."
            )
