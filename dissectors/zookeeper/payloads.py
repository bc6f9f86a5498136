"""Data of nodes, by path: created, set, read, proposed, in snapshots.

Facts. The field is `data` beside a `path`. An answer has only the data; its path is in the request, at the same place
of a multi.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.message import Values
from dissectors.payload import LoadRequest, Payload, Payloads
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.inner import content, dicts, find_within

_DATA, _PATH, _UNKNOWN = "data", "path", "unknown"


def payloads(values: Values, load_request: LoadRequest) -> Iterator[Payload]:
    """Yields the data of nodes in a decoded message of clients or of the quorum, by path."""
    request: Values | None = None
    for place, found in dicts(values):
        data_value = found.get(_DATA)
        # Bytes that were decoded further are no node's.
        data = None if isinstance(data_value, EmbeddedValue) else content(data_value)
        if data is not None:
            path = found.get(_PATH)
            if path is None:
                request = load_request() or {} if request is None else request
                path = find_within(request, (*place, _PATH))
            yield Payload((*place, _DATA), _DATA, data, (path if isinstance(path, str) else _UNKNOWN,))


PAYLOADS = Payloads(payloads, frozenset)
"""Of clients: nodes are no logs, so no message carries records."""

QUORUM = Payloads(payloads)
