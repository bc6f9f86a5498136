"""What ZooKeeper's own classes read from a recording, as a file that the tests of every day compare with.

    python -m tests.brokers.zookeeper.golden CAPTURE FOLDER

FOLDER gets the capture and, beside it, a row for each message: its place, what it is, its fields. No class reads the
four-letter words, which are themselves. Who answers whom is not the classes' to say, and is left out.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.brokers.lab.goldens import PLACE, write
from tests.brokers.lab.java import Java, find_java
from tests.brokers.lab.maven import fetched
from tests.brokers.zookeeper import vendor
from tests.brokers.zookeeper.recipe import NEW
from tests.golden.truth import numbered

NAMES = {"_operation": "operation", "_code": "code", "_xid": "correlation"}


def main(capture: Path, folder: Path) -> None:
    """Writes both files."""
    rows, messages = vendor.decoded(capture)
    java = find_java(17)
    server = Java(java, (fetched(NEW.jars, java),))
    with tempfile.TemporaryDirectory() as place:
        reported = vendor.expected(rows, messages, vendor.reader(server, Path(place)))
    (folder / capture.name).write_bytes(capture.read_bytes())
    write(capture, folder, _rows(rows, messages, reported))


def _rows(
    rows: Sequence[vendor.Row], messages: Sequence[bytes], told: Sequence[vendor.Row | None]
) -> list[dict[str, Any]]:
    ordinals = {row["id"]: key[2] for key, row in numbered(rows).items()}
    found = []
    for row, message, truth in zip(rows, messages, told, strict=True):
        if truth is None:
            text = message.decode()
            truth = {"_operation": text} if row["from_client"] else {"text": text}
        expected = {"stream_key": row["stream_id"], "from_client": row["from_client"], "ordinal": ordinals[row["id"]]}
        expected |= {name: row[name] for name in PLACE}
        expected |= {NAMES[name]: value for name, value in truth.items() if name in NAMES}
        expected["fields"] = {name: value for name, value in truth.items() if not name.startswith("_")}
        if row["operation"] == "SNAPSHOT":
            # A tree is written in an order of its own by the class that holds it.
            order = {node["path"]: place for place, node in enumerate(row["fields"]["nodes"])}
            expected["fields"]["nodes"].sort(key=lambda node: order[node["path"]])
        found.append(expected)
    return found


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
