"""Network namespaces of processes and containers, in which the capturing process opens interfaces.

Theory. A socket belongs for good to the namespace in which it was created. So the capturing process enters a namespace,
opens the interfaces there and returns, while it still has the right to do so. The folders of docker and of containerd
(which Kubernetes uses) show which process a container runs, so no daemon is needed.
"""

from __future__ import annotations

import ctypes
import glob
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyzer.errors import CaptureError

OF_NETWORKS = 0x40000000
"""CLONE_NEWNET."""

NAMED = "/run/netns"
"""The folder in which `ip netns` keeps namespaces."""

DOCKER = "/var/lib/docker/containers/*/config.v2.json"
CONTAINERD = "/run/containerd/io.containerd.runtime.v2.task/*/*/init.pid"

CONTAINER, POD, POD_NAMESPACE, NERDCTL = (
    "io.kubernetes.cri.container-name",
    "io.kubernetes.cri.sandbox-name",
    "io.kubernetes.cri.sandbox-namespace",
    "nerdctl/name",
)
"""Annotations of a containerd container that hold names."""

SHORTEST_ID = 6
"""Minimum length of an id that names a container."""


@dataclass(frozen=True, slots=True)
class NetworkNamespace:
    """Describes a namespace: its name for the user, and its file."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Container:
    """Describes a running container: its id, its names, and the number of its first process."""

    id: str
    names: tuple[str, ...]
    pid: int

    def is_called(self, name: str) -> bool:
        """Whether a user may mean this container."""
        return name in self.names or (len(name) >= SHORTEST_ID and self.id.startswith(name))


def find_namespaces(processes: Sequence[str], containers: Sequence[str]) -> list[NetworkNamespace]:
    """Returns the namespaces that --netns and --container name, each once.

    processes: numbers of processes, names of `ip netns`, or paths. Raises CaptureError if one does not exist.
    """
    found = [_find_namespace(name) for name in processes]
    if containers:
        running = list(list_containers())
        found += [_find_container(name, running) for name in containers]
    return list({_identify(each): each for each in reversed(found)}.values())[::-1]


def _find_namespace(name: str) -> NetworkNamespace:
    if name.isdecimal():
        path, what = f"/proc/{name}/ns/net", f"There is no process {name}"
    else:
        path = name if "/" in name else f"{NAMED}/{name}"
        what = f"There is no {path}; ip netns lists the names"
    if not os.path.lexists(path):
        raise CaptureError(f"--netns {name}: {what}. Give the number of a process, or a name.")
    return NetworkNamespace(name, path)


def _find_container(name: str, running: Sequence[Container]) -> NetworkNamespace:
    called = [each for each in running if each.is_called(name)]
    namespaces = [NetworkNamespace(name, f"/proc/{each.pid}/ns/net") for each in called]
    different = {_identify(each): each for each in namespaces}
    if not different:
        names = sorted({each.names[0] if each.names else each.id[:12] for each in running})
        there = f"Running ones are {', '.join(names)}" if names else "None of docker or containerd runs here"
        raise CaptureError(f"--container {name}: There is no running container of this name or id. {there}.")
    if len(different) > 1:
        ids = ", ".join(sorted(each.id[:12] for each in called))
        raise CaptureError(f"--container {name}: Several containers have this name. Give one of the ids {ids}.")
    return namespaces[0]


def _identify(namespace: NetworkNamespace) -> tuple[int, int]:
    """Returns the device and inode of a namespace, the same for all its files. Raises CaptureError."""
    try:
        status = os.stat(namespace.path)
    except PermissionError:
        raise _make_refusal(namespace) from None
    except OSError as error:
        raise CaptureError(f"Cannot open the network namespace of {namespace.name}: {error.strerror}.") from None
    return status.st_dev, status.st_ino


def list_containers() -> Iterator[Container]:
    """Yields the running containers of docker and containerd whose folders this process may read."""
    for path in sorted(glob.glob(DOCKER)):
        found = _read_json(path)
        pid = found.get("State", {}).get("Pid", 0)
        if pid:
            yield Container(found.get("ID", ""), (str(found.get("Name", "")).lstrip("/"),), pid)
    for path in sorted(glob.glob(CONTAINERD)):
        folder = os.path.dirname(path)
        notes = _read_json(os.path.join(folder, "config.json")).get("annotations", {})
        pod = f"{notes[POD_NAMESPACE]}/{notes[POD]}" if {POD, POD_NAMESPACE} <= notes.keys() else None
        names = (notes.get(NERDCTL), notes.get(CONTAINER), pod, notes.get(POD))
        try:
            pid = int(Path(path).read_text())
        except (OSError, ValueError):  # it has just ended
            continue
        yield Container(os.path.basename(folder), tuple(filter(None, names)), pid)


def _read_json(path: str) -> dict[str, Any]:
    with suppress(OSError, ValueError), open(path, "rb") as file:
        found: dict[str, Any] = json.load(file)
        return found
    return {}


@contextmanager
def enter_namespace(namespace: NetworkNamespace) -> Iterator[None]:
    """Opens sockets in a namespace until the block ends. Raises CaptureError if this process may not."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(namespace)
        try:
            yield
        finally:
            _set_namespace(home)
    finally:
        os.close(home)


def _enter(namespace: NetworkNamespace) -> None:
    try:
        descriptor = os.open(namespace.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _set_namespace(descriptor)
        finally:
            os.close(descriptor)
    except PermissionError:
        raise _make_refusal(namespace) from None
    except OSError as error:
        raise CaptureError(f"Cannot enter the network namespace of {namespace.name}: {error.strerror}.") from None


def _make_refusal(namespace: NetworkNamespace) -> CaptureError:
    return CaptureError(
        f"You may not enter the network namespace of {namespace.name}. Give --via sudo; root needs CAP_SYS_ADMIN."
    )


def _set_namespace(descriptor: int) -> None:
    """Enters a namespace. Raises OSError. os.setns exists only since Python 3.12."""
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, OF_NETWORKS):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


LISTENING = "0A"
"""The state of a listening socket in /proc/net/tcp."""


def list_listening_ports() -> set[int]:
    """Returns the TCP ports that processes listen on in the namespace of this process."""
    found: set[int] = set()
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            rows = [line.split()[1:4] for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]]
            found.update(int(local.rpartition(":")[2], 16) for local, _, state in rows if state == LISTENING)
    return found
