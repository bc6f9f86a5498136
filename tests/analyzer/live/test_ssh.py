"""Interfaces of another machine, through an sshd of the test's own on this one."""

from __future__ import annotations

import os
import select
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.capture.pcapng_format import encode_packet
from analyzer.errors import CaptureError
from analyzer.live.relays import PcapRelay, open_relay
from analyzer.live.ssh import RemoteInterface, SshTap
from tests.namespaces import privileged

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PATIENCE = 60.0


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("ssh://broker/eth0", ("broker", None, "eth0")),
        ("ssh://me@broker-1.example:2222/any", ("me@broker-1.example", 2222, "any")),
        ("ssh://[fd00::1]:22/eth0.7", ("[fd00::1]", 22, "eth0.7")),
        ("ssh://me@[fd00::1]/lo", ("me@[fd00::1]", None, "lo")),
        *((uri, None) for uri in ("ssh://broker", "ssh:///eth0", "ssh://-oProxyCommand=x/eth0", "ssh://a b/eth0")),
        *((uri, None) for uri in ("ssh://broker/-w", "ssh://broker/$(id)", "ssh://broker:port/eth0", "ssh://a/b/c")),
    ],
)
def test_uri(uri: str, expected: tuple[str, int | None, str] | None) -> None:
    if expected is None:
        with pytest.raises(CaptureError, match="is no interface of another machine"):
            RemoteInterface.parse(uri)
    else:
        found = RemoteInterface.parse(uri)
        assert found == RemoteInterface(*expected)
        assert found.destination[-1] == expected[0].replace("[", "").replace("]", "")


@pytest.mark.parametrize(("order", "magic", "unit"), [("<", 0xA1B2C3D4, 1000), (">", 0xA1B23C4D, 1)])
def test_records_of_tcpdump(order: str, magic: int, unit: int) -> None:
    """However they are cut; byte by byte here."""
    head = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 276)
    packets = [(7, 5, b"abc"), (8, 6, b"defgh")]
    stream = b"".join(struct.pack(order + "IIII", second, tick, len(data), 99) + data for second, tick, data in packets)
    parts = iter((head[:8], head[8:]))
    found, _ = open_relay(3, lambda size: next(parts))
    assert found is not None
    link, relay = found
    assert (link, type(relay)) == (276, PcapRelay)
    data, blocks = bytearray(), []
    for place in range(len(stream)):
        data += stream[place : place + 1]
        if (batch := relay.take(data)) is not None:
            assert isinstance(batch.blocks, bytes)
            blocks.append(batch.blocks)
    assert blocks == [encode_packet(3, second * 10**9 + tick * unit, data, 99) for second, tick, data in packets]
    with pytest.raises(ValueError, match="a packet of"):
        relay.take(bytearray(b"\x7f" * 16))


@pytest.fixture(params=["dumpcap"])
def remote(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of an sshd with one program that captures, which `ssh` reaches with a key of this test."""
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("needs ssh and sshd")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    taken.bind(("127.0.0.1", 0))  # sshd may listen there beside it, and nobody else gets the port
    port: int = taken.getsockname()[1]
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "cat", request.param):
        (tools / name).symlink_to(shutil.which(name) or pytest.skip(f"needs {name}"))
    settings = {
        "SetEnv": f"PATH={tools}",
        "Port": port, "ListenAddress": "127.0.0.1", "HostKey": tmp_path / "host", "UsePAM": "no", "StrictModes": "no",
        "AuthorizedKeysFile": tmp_path / "user.pub", "PidFile": "none", "PermitRootLogin": "yes",
    }  # fmt: skip
    (tmp_path / "sshd").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    os.makedirs("/run/sshd", exist_ok=True)
    (tmp_path / "config").write_text(
        f"IdentityFile {tmp_path}/user\nUserKnownHostsFile {tmp_path}/known\nStrictHostKeyChecking no\nLogLevel ERROR\n"
    )
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {tmp_path}/config "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with taken, subprocess.Popen([SSHD, "-D", "-e", "-f", str(tmp_path / "sshd")], stderr=subprocess.DEVNULL) as server:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.02)
        yield port
        server.terminate()


def find_processes(word: str) -> list[str]:
    """The commands of processes that have a word in them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in command:
            found.append(command)
    return found


@privileged
@pytest.mark.parametrize("remote", ["dumpcap", "tcpdump"], indirect=True)
def test_packets_come_through_ssh_and_all_ends_with_us(remote: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, receiver.dup() as sender:
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]
        tap = SshTap(0, f"ssh://127.0.0.1:{remote}/lo", f"udp port {port}", 0, True)
        assert (tap.description.name, tap.description.link) == ("lo@127.0.0.1", 1)
        tap.begin()
        taken = 0
        until = time.monotonic() + PATIENCE
        while taken < 3 and time.monotonic() < until:
            sender.sendto(b"x" * 100, receiver.getsockname())
            if select.select([tap], [], [], 0.1)[0] and (batch := tap.take()) is not None:
                taken += batch.packets
        assert taken >= 3
        assert find_processes(f"udp port {port}")
        tap.halt()
        while tap.has_more and time.monotonic() < until:
            select.select([tap], [], [], 0.1)
            tap.take()
        assert (tap.has_more, tap.problem) == (False, None)
        tap.begin()
        tap.close()
        while find_processes(f"udp port {port}") and time.monotonic() < until:
            time.sleep(0.05)
        assert not find_processes(f"udp port {port}")


@privileged
@pytest.mark.parametrize(
    ("interface", "expression", "text"),
    [
        ("nope0", "", "Cannot capture on nope0@127.0.0.1 by ssh: .*nope0"),
        ("lo", "tcp prt 1", "-f tcp prt 1: this is not a capture filter"),
    ],
)
def test_what_fails_there_is_said(remote: int, interface: str, expression: str, text: str) -> None:
    with pytest.raises(CaptureError, match=text):
        SshTap(0, f"ssh://127.0.0.1:{remote}/{interface}", expression, 0, True)


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs ssh")
def test_nobody_listens() -> None:
    with pytest.raises(CaptureError, match=r"Cannot capture on lo@127.0.0.1 by ssh: .*refused"):
        SshTap(0, "ssh://127.0.0.1:9/lo", "", 0, True)
