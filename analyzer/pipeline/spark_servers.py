"""Who is to do the work must be there: a bounded question, before Spark begins to ask on its own for minutes."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from analyzer.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_SECONDS = 10.0
"""Seconds for a connection to be accepted."""

ANSWER_SECONDS = 60.0
"""Seconds for a server to say who it is; the first session of a server takes several."""

MASTER_PORT, CONNECT_PORT = 7077, 15002
LOCAL_MASTER = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[\d+, *\d+, *\d+\]")


def check_master(master: str) -> None:
    """Raises UserError for what is no master, and for a standalone one that does not answer."""
    if master.startswith("spark://"):
        names = master.removeprefix("spark://").split(",")
        _check_reachable(
            [_parse_address(f"spark://{name}", MASTER_PORT) for name in names], f"The Spark master {master}"
        )
    elif not (LOCAL_MASTER.fullmatch(master) or master == "yarn" or re.match(r"\w+://.", master)):
        raise UserError(f"{master!r} is not a Spark master. Give local[N], spark://HOST:PORT, yarn or k8s://URL.")


def connect_session(url: str, settings: Mapping[str, str]) -> SparkSession:
    """Connects to a Spark Connect server. Raises UserError if that takes more than a minute."""
    if not url.startswith("sc://"):
        raise UserError(f"{url!r} is not a Spark Connect server. Give sc://HOST:PORT.")
    host, port = place = _parse_address(url, CONNECT_PORT)
    server = f"The Spark Connect server {host}:{port}"  # without what may follow, which may be a token
    _check_reachable([place], server)
    from pyspark.sql import SparkSession

    found: list[SparkSession | Exception] = []

    def connect() -> None:
        try:
            builder = SparkSession.builder.remote(url)
            for name, value in settings.items():
                builder = builder.config(name, value)
            spark = builder.create()
            assert spark.version
            found.append(spark)
        except Exception as error:
            found.append(error)

    # What listens may be no such server, and Spark asks again for ten minutes.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    if not found:
        raise UserError(f"{server} does not answer. Check that it is one, and that it runs the same version of Spark.")
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _parse_address(url: str, usual: int) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or usual
    except ValueError:
        host, port = None, usual
    if not host:
        raise UserError(
            f"{url.split(';', maxsplit=1)[0]!r} has no valid host and port. Give {url[: url.index(':')]}://HOST:PORT."
        )
    return host, port


def _check_reachable(places: Sequence[tuple[str, int]], what: str) -> None:
    """Raises UserError if nobody listens at one of these places."""
    reasons = []
    for place in places:
        try:
            socket.create_connection(place, CONNECT_SECONDS).close()
            return
        except OSError as error:
            reasons.append(error.strerror or str(error) or type(error).__name__)
    raise UserError(f"{what} cannot be reached: {reasons[-1]}. Check host and port, and whether it runs.")
