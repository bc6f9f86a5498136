"""What servers of several releases answered to four-letter words, and what is read of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.wire.message import fold_tree
from dissectors.zookeeper import four_letter_commands
from dissectors.zookeeper.four_letter_commands.answers import LONGEST_LINE, MOST_LINES
from tests.dissectors.trees import assert_tiles, node
from tests.effort import within

SRVR = (
    "Zookeeper version: 3.9.5-293c, built on 2026-02-11 20:18 UTC\nLatency min/avg/max: 0/3.5/22\nReceived: 48\n"
    "Outstanding: 0\nZxid: 0x100000057\nMode: leader\nNode count: 29\nProposal sizes last/min/max: -1/-1/-1\n"
)
SRVR_VALUES = {
    "Zookeeper version": "3.9.5-293c, built on 2026-02-11 20:18 UTC", "Latency min": 0, "Latency avg": 3.5,
    "Latency max": 22, "Received": 48, "Outstanding": 0, "Zxid": "0x100000057", "Mode": "leader", "Node count": 29,
    "Proposal sizes last": -1, "Proposal sizes min": -1, "Proposal sizes max": -1,
}  # fmt: skip
IDLE = " /127.0.0.1:46248[0](queued=0,recved=1,sent=0)\n"
IDLE_VALUES = {"address": "127.0.0.1:46248", "interest": "0", "queued": 0, "recved": 1, "sent": 0}
BUSY = (
    " /[0:0:0:0:0:0:0:1]:46094[1](queued=0,recved=4,sent=4,sid=0x1000040b9940000,lop=CREA,est=1795272375500,to=10000,"
    "lcxid=0x3,lzxid=0x3,lresp=4242374,llat=2,minlat=0,avglat=4,maxlat=10)\n"
)
BUSY_VALUES = {
    "address": "[0:0:0:0:0:0:0:1]:46094", "interest": "1", "queued": 0, "recved": 4, "sent": 4,
    "sid": "0x1000040b9940000", "lop": "CREA", "est": 1795272375500, "to": 10000, "lcxid": "0x3", "lzxid": "0x3",
    "lresp": 4242374, "llat": 2, "minlat": 0, "avglat": 4, "maxlat": 10,
}  # fmt: skip

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "mntr": (("zk_version\t3.9.5, built: today\nzk_server_state\tleader\nzk_avg_latency\t1.3898\nzk_uptime\t-1\n"
             "zk_max\t18446744073709551616\nzk_none\tnull\n"),
             {"zk_version": "3.9.5, built: today", "zk_server_state": "leader", "zk_avg_latency": 1.3898,
              "zk_uptime": -1, "zk_max": "18446744073709551616", "zk_none": "null"}),
    "srvr": (SRVR, SRVR_VALUES),
    "stat": (f"Zookeeper version: 3\nClients:\n{IDLE}{BUSY}\nReceived: 2\n",
             {"Zookeeper version": "3", "connections": [IDLE_VALUES, BUSY_VALUES], "Received": 2}),
    "cons": (f"{BUSY}{IDLE}\n", {"connections": [BUSY_VALUES, IDLE_VALUES]}),
    "conf": ("clientPort=2181\ndataDir=/a=b: c\nmembership: \nserver.1=a:1:2\n",
             {"clientPort": 2181, "dataDir": "/a=b: c", "server.1": "a:1:2"}),
    "envi": ("Environment:\nhost.name=<NA>\njava.class.path=\n", {"host.name": "<NA>", "java.class.path": ""}),
    "dump": (("SessionTracker dump:\nSession Sets (1)/(1):\n1 expire at Sat Nov 21 14:46:27 UTC 2026:\n\t0x10\n\t0x11\n"
             "ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x10:\n\t/w1/e\n\t/\u00e9\nConnections dump:\n"
             "Connections Sets (1)/(1):\n1 expire at Sat Nov 21 14:46:33 UTC 2026:\n"
             "\tip: /127.0.0.1:46140 sessionId: 0x0\n"),
             {"sessions": [{"count": 1, "expires": "Sat Nov 21 14:46:27 UTC 2026", "ids": ["0x10", "0x11"]}],
              "ephemerals": [{"session": "0x10", "paths": ["/w1/e", "/\u00e9"]}],
              "connections": [{"count": 1, "expires": "Sat Nov 21 14:46:33 UTC 2026",
                               "clients": [{"address": "127.0.0.1:46140", "sessionId": "0x0"}]}]}),
    "wchs": ("2 connections watching 3 paths\nTotal watches:4\n", {"connections": 2, "paths": 3, "Total watches": 4}),
    "wchc": ("0x10\n\t/a\n\t/b\n0x11\n\t/a\n\n",
             {"watches": [{"session": "0x10", "paths": ["/a", "/b"]}, {"session": "0x11", "paths": ["/a"]}]}),
    "wchp": ("/a\n\t0x10\n", {"watches": [{"path": "/a", "sessions": ["0x10"]}]}),
    "dirs": ("datadir_size: 67109358\nlogdir_size: 1\n", {"datadir_size": 67109358, "logdir_size": 1}),
    "hash": ("1f: -12\n20: 9\n", {"digests": [{"zxid": "1f", "digest": -12}, {"zxid": "20", "digest": 9}]}),
    "gtmk": ("306", {"traceMask": 306}),
    "lines of Windows": ("a=1\r\nb=2\r\n", {"a": 1, "b": 2}),
    "names and values of other number": ("Latency min/max: 1/2/3\n", {"Latency min/max": "1/2/3"}),
}  # fmt: skip
TEXTS = [
    "imok", "rw", "", "\n", "This ZooKeeper instance is not currently serving requests\n",
    "stat is not executed because it is not in the whitelist.\n", "Server stats reset.\n",
    "SessionTracker dump:\nSession Sets (0):\nephemeral nodes dump:\nSessions with Ephemerals (0):\n",
]  # fmt: skip


@pytest.mark.parametrize(("text", "values"), CASES.values(), ids=CASES)
def test_an_answer(text: str, values: dict[str, Any]) -> None:
    tree = four_letter_commands.decode_tree(text.encode())
    assert_tiles(tree)
    assert four_letter_commands.decode_values(text.encode()).values == {"text": text, "values": values}


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_only_text(text: str) -> None:
    if text:
        assert four_letter_commands.decode_values(text.encode()).values == {"text": text}
        assert_tiles(four_letter_commands.decode_tree(text.encode()))


def test_labels() -> None:
    tree = four_letter_commands.decode_tree(BUSY.encode())
    assert node(tree, "text", "values", "connections", "[0]", "est").text == "2026-11-21T14:46:15.500Z"
    assert node(tree, "text", "values", "connections", "[0]", "to").text == "0:00:10"


@pytest.mark.parametrize(("text", "values"), CASES.values(), ids=CASES)
def test_every_cut(text: str, values: dict[str, Any]) -> None:
    data = text.encode()
    for size in range(5, len(data)):
        tree = four_letter_commands.decode_tree(data[:size])
        assert_tiles(tree)
        assert fold_tree(tree) == four_letter_commands.decode_values(data[:size])


PIECES = st.sampled_from(
    [
        "zk_a\t1\n",
        IDLE,
        "a: 1\n",
        "\t/x\n",
        "/x\n",
        "0x1:\n",
        "1 expire at x:\n",
        "SessionTracker dump:\n",
        "\r\n",
        "\n",
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=12))
def test_any_text(pieces: list[str]) -> None:
    data = ("Text" + "".join(pieces)).encode()
    assert_tiles(four_letter_commands.decode_tree(data))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "data",
    [b"a: 1\n" * (MOST_LINES + 5), b"0x1\n" + b"\t/a\n" * (MOST_LINES + 5), b"a" * (LONGEST_LINE + 5) + b"=1\nb=2\n",
     b" /a[1](" + b"k=v," * 5000 + b")\n", b"A " + b"a/" * 30_000 + b": 1", b"[" * 60_000],
    ids=["lines", "items", "a long line", "attributes", "names", "brackets"],
)  # fmt: skip
def test_too_much_stays_text(data: bytes) -> None:
    with within(10):
        assert_tiles(four_letter_commands.decode_tree(data))
