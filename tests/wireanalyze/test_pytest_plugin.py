"""The fixture `wire`, in tests of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

import analyzer.query.filter
import wireanalyze.capture
from analyzer.live.interfaces import may_capture
from tests.documents import ROOT

# A run within this process forgets what it has imported, and NumPy cannot be imported twice.
IMPORTED = analyzer.query.filter, wireanalyze.capture

pytest_plugins = "pytester"
CAPTURE = ROOT / "captures" / "kafka.pcap"
PLUGIN = ("-p", "wireanalyze.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def without_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither other plug-ins nor, where the project is installed, this one by its entry point."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


FROM_A_FILE = f"""
import pytest

pytestmark = pytest.mark.wire(file={str(CAPTURE)!r})

def test_messages(wire):
    assert len(wire.messages()) == 648
    assert [message.number for message in wire.messages("kafka.Fetch", head=2)]
    assert wire.assert_some("kafka.Produce")
    wire.assert_no("latency > 1s")
    wire.assert_latency("1s")
    wire.assert_latency("300ms", "kafka.Produce", percentile=50)

def test_no(wire):
    wire.assert_no("kafka.Fetch and latency > 400ms")

def test_latency(wire):
    wire.assert_latency("10ms", "kafka.Fetch", percentile=99)

def test_some(wire):
    wire.assert_some("zookeeper")

def test_none_is_timed(wire):
    wire.assert_latency("10ms", "zookeeper")

@pytest.mark.wire(interfce="eth0")
def test_misspelt(wire): ...

def test_read_from(wire):
    wire.read_from({str(ROOT / "captures" / "mixed.pcapng")!r})
    assert len(wire.capture) == 1140
"""

LIVE = """
import socket, threading
import pytest

def exchange(port):
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
        with client, peer:
            client.sendall(bytes.fromhex("0000000e0012000000000001000461626364"))
            peer.recv(100)
            peer.sendall(bytes.fromhex("0000000a00000001000000000000"))
            client.recv(100)

def test_live(wire):
    exchange(0)
    (request,) = wire.messages("client == abcd and role == request")
    exchange(0)
    assert len(wire.messages("client == abcd and role == request")) == 2
    wire.assert_latency("10s", "kafka.ApiVersions")
    wire.assert_no("client == abcd")
"""


def test_assertions_and_what_is_retained(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=FROM_A_FILE)
    result = pytester.runpytest_inprocess(*PLUGIN, "--wire-keep", "kept")
    result.assert_outcomes(passed=2, failed=4, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*unexpected keyword argument 'interfce'*",
            "*messages must not pass 'kafka.Fetch and latency > 400ms':*",
            "*<Message 53: kafka Fetch v18 response 127.0.0.1:29192 > 127.0.0.1:46042>*",
            "*kept in *kept/test_it.py-test_no-kafka.pcap",
            "*messages must be below 10ms (percentile 99):*",
            "*None of 648 messages passes 'zookeeper'.",
            "*No response passes 'zookeeper', so there is no latency.",
        ]
    )
    assert (pytester.path / "kept" / "test_it.py-test_no-kafka.pcap").read_bytes() == CAPTURE.read_bytes()


@pytest.mark.privileged
@pytest.mark.skipif(not may_capture(), reason="needs the right to capture on loopback")
def test_loopback_is_recorded(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=LIVE)
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*4 messages must not pass 'client == abcd':*", "*kept in *test_live-wire.pcapng"])


def test_it_skips_where_capturing_is_not_allowed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.live.interfaces.may_capture", lambda: False)
    monkeypatch.setattr(sys, "executable", "false")
    pytester.makepyfile("def test_it(wire): ...")
    result = pytester.runpytest_inprocess(*PLUGIN, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*the fixture `wire` may not capture packets: it does not begin"])


def test_it_costs_nothing_where_it_is_not_used() -> None:
    """The plug-in is imported by every run of pytest where it is installed, and imports no other module of ours."""
    code = "import sys, pytest, wireanalyze.pytest_plugin; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "'wireanalyze'" in loaded
    assert not any(f"'{name}'" in loaded for name in ("analyzer", "dissectors", "numpy", "orjson"))
