"""Masters and servers that are not there are told at once."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from analyzer.errors import UserError
from analyzer.pipeline.spark_servers import check_master, connect_session


@pytest.fixture
def closed() -> Iterator[int]:
    """A port on which nobody listens, and which nobody else gets meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[2]", "local[2,3]", "local-cluster[2,1,1024]", "yarn", "k8s://https://host:443"],
)
def test_masters(master: str) -> None:
    check_master(master)


@pytest.mark.parametrize(
    ("master", "text"),
    [
        ("nonsense", "'nonsense' is not a Spark master. Give local"),
        ("local[two]", "is not a Spark master"),
        ("spark://", "has no valid host and port. Give spark://HOST:PORT"),
        ("spark://host:port", "has no valid host and port"),
    ],
)
def test_no_masters(master: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        check_master(master)


def test_who_listens_and_who_does_not(closed: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_master(f"spark://127.0.0.1:{port}")
        check_master(f"spark://127.0.0.1:{closed},127.0.0.1:{port}")
    with pytest.raises(UserError, match=r"cannot be reached: .*refused.* Check host and port"):
        check_master(f"spark://127.0.0.1:{closed}")


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("spark://host", "is not a Spark Connect server. Give sc://HOST:PORT"),
        ("sc://", "has no valid host and port"),
        ("sc://127.0.0.1:{closed}/;token=secret", "127.0.0.1:{closed} cannot be reached"),
    ],
)
def test_no_servers(url: str, text: str, closed: int) -> None:
    with pytest.raises(UserError, match=text.format(closed=closed)) as reported:
        connect_session(url.format(closed=closed), {})
    assert "secret" not in str(reported.value)
