"""What RocketMQ's own classes read from a recording, as a file that the tests of every day compare with.

    python -m tests.brokers.rocketmq.golden CAPTURE FOLDER

FOLDER gets, for CAPTURE (NAME.pcap.zst), NAME.expected.ndjson.zst: a row for each frame, with its place, what it is and
its fields. Who answers whom is not the classes' to say: that is where a request's code comes from, so it is left out.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.brokers.lab.goldens import PLACE, write
from tests.brokers.lab.java import Java, find_java
from tests.brokers.lab.maven import fetched
from tests.brokers.rocketmq import vendor
from tests.brokers.rocketmq.recipe import JARS
from tests.brokers.zookeeper.vendor import Row, decoded
from tests.golden.truth import numbered


def main(capture: Path, folder: Path) -> None:
    """Writes the file. Fails where the classes read something else than we do."""
    rows, messages = decoded(capture)
    java = find_java(17)
    server = Java(java, (fetched(JARS, java),))
    with tempfile.TemporaryDirectory() as place:
        truth = vendor.expected(rows, messages, vendor.reader(server, Path(place)))
    found, _ = vendor.compare(rows, truth)
    assert found.causes == {}, found.report()
    ordinals = {row["id"]: key[2] for key, row in numbered(rows).items()}
    write(
        capture, folder, [_row(row, ordinals[row["id"]], reported) for row, reported in zip(rows, truth, strict=True)]
    )


def _row(row: Row, ordinal: int, told: Row) -> Row:
    found = {"stream_key": row["stream_id"], "from_client": row["from_client"], "ordinal": ordinal}
    found |= {name: row[name] for name in PLACE}
    found |= {"role": told["_role"], "correlation": told["_opaque"], "mq_version": told["_version"]}
    if told["_role"] != "response":
        found["code"] = told["_code"]
    return {**found, "fields": {name: value for name, value in told.items() if not name.startswith("_")}}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
