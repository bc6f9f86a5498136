"""The TLS secrets of the sessions of chosen messages, as lines of a key log."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.session import Analysis
from analyzer.tls.key_files import KeyRing


def list_secrets(session: Analysis, rows: Ints) -> list[str]:
    """Returns the lines of the sessions in which `rows` were decrypted, and of no others."""
    return list(dict.fromkeys(_iterate_lines(session, rows)))


def _iterate_lines(session: Analysis, rows: Ints) -> Iterator[str]:
    ring = session.engine.secrets
    if not isinstance(ring, KeyRing):
        return
    for stream in list_distinct(session.rows.column("stream")[rows]).tolist():
        facts = session.engine.tls.find(stream)
        if facts is not None and any(facts.opened):
            yield from (f"{line}\n" for line in ring.log.lines(facts.random))
