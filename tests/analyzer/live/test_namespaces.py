"""Network namespaces of processes and containers: which one is meant, and that interfaces are opened there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.errors import CaptureError
from analyzer.live import namespaces
from analyzer.live.capture_request import CaptureRequest
from analyzer.live.interfaces import choose_interfaces
from analyzer.live.namespaces import NetworkNamespace, enter_namespace, find_namespaces, list_listening_ports
from analyzer.live.sniffer import open_taps
from tests.namespaces import in_namespace, privileged

HERE = str(os.getpid())


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders as docker and containerd have them; all containers run in our namespace but `gone`, which has ended."""
    docker, containerd = tmp_path / "docker", tmp_path / "containerd"
    for name, called, pid in (("aaaaaaaaaaaa1", "broker", os.getpid()), ("bbbbbbbbbbbb2", "gone", 0)):
        write(docker / name / "config.v2.json", {"ID": name, "Name": f"/{called}", "State": {"Pid": pid}})
    write(docker / "cccccccccccc3" / "config.v2.json", "{")
    annotations = {
        "io.kubernetes.cri.container-name": "kafka",
        "io.kubernetes.cri.sandbox-name": "kafka-0",
        "io.kubernetes.cri.sandbox-namespace": "prod",
    }
    for name, notes in (("dddddddddddd4", annotations), ("eeeeeeeeeeee5", {"nerdctl/name": "zoo"})):
        write(containerd / "k8s.io" / name / "config.json", {"annotations": notes})
        write(containerd / "k8s.io" / name / "init.pid", HERE)
    write(containerd / "k8s.io" / "ffffffffffff6" / "init.pid", "")
    monkeypatch.setattr(namespaces, "DOCKER", str(docker / "*" / "config.v2.json"))
    monkeypatch.setattr(namespaces, "CONTAINERD", str(containerd / "*" / "*" / "init.pid"))
    monkeypatch.setattr(namespaces, "NAMED", str(tmp_path))
    (tmp_path / "blue").symlink_to("/proc/self/ns/net")
    return tmp_path


OWN = f"/proc/{HERE}/ns/net"
NAMES = ("broker", "aaaaaa", "kafka", "kafka-0", "prod/kafka-0", "zoo", "dddddddddddd4")
RUNNING = "Running ones are broker, kafka, zoo."


@pytest.mark.parametrize(
    ("processes", "containers", "expected"),
    [
        ([HERE], [], [(HERE, OWN)]),
        (["blue"], [], [("blue", "{}/blue")]),
        (["/proc/self/ns/net"], [], [("/proc/self/ns/net", "/proc/self/ns/net")]),
        *(([], [name], [(name, OWN)]) for name in NAMES),
        ([HERE, "blue"], ["broker"], [(HERE, OWN)]),
        (["999999999"], [], "--netns 999999999: There is no process 999999999. Give the number"),
        (["red"], [], "--netns red: There is no {}/red; ip netns lists the names."),
        ([], ["gone"], f"--container gone: There is no running container of this name or id. {RUNNING}"),
        ([], ["aaa"], f"--container aaa: There is no running container of this name or id. {RUNNING}"),
    ],
)
def test_which_is_meant(processes: list[str], containers: list[str], expected: Any, runtime: Path) -> None:
    if isinstance(expected, str):
        with pytest.raises(CaptureError) as raised:
            find_namespaces(processes, containers)
        assert str(raised.value).startswith(expected.format(runtime))
    else:
        assert find_namespaces(processes, containers) == [
            NetworkNamespace(name, path.format(runtime)) for name, path in expected
        ]


@pytest.fixture
def other() -> Iterator[int]:
    """A process in another namespace, with an interface of its own and a server on port 9092."""
    listen = "import socket; s = socket.create_server(('127.0.0.1', 9092)); print(flush=True); input()"
    script = f'ip link add v7 type veth peer name v8 && ip link set v7 up && exec {sys.executable} -c "{listen}"'
    with subprocess.Popen(in_namespace(script), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid


@privileged
def test_interfaces_are_opened_there(other: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.live.privilege.give_up", lambda user: None)
    before = os.readlink("/proc/self/ns/net")
    with enter_namespace(NetworkNamespace("x", f"/proc/{other}/ns/net")):
        assert [each.name for each in choose_interfaces(("v7", "lo"))] == ["v7", "lo"]
        assert list_listening_ports() == {9092}
    assert os.readlink("/proc/self/ns/net") == before
    assert "v7" not in {name for _, name in socket.if_nameindex()}
    request = CaptureRequest(
        interfaces=("lo", "v7"), netns=(str(other),), filter="auto", ports=(9092, 2181), buffer=1 << 22
    )
    taps, notes = open_taps(request)
    assert [(tap.description.name, tap.description.filter) for tap in taps] == [
        (f"lo@{other}", "tcp port 9092"),
        (f"v7@{other}", "tcp port 9092"),
    ]
    assert notes == [f"{other}: -f auto captures the ports 9092, on which servers listen here."]
    for tap in taps:
        tap.begin()
        assert tap.problem is None or "v7" in tap.problem
        tap.close()


@privileged
def test_no_server_listens(other: int) -> None:
    request = CaptureRequest(netns=(str(other),), filter="auto", ports=(2181,))
    with pytest.raises(CaptureError, match="-f auto: No server of a known protocol listens here"):
        open_taps(request)
