"""Our fields of every message of a recording, beside what Kafka's own classes read from the same bytes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.decode.content import read_message
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.session import Session
from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.lab.java import Java, compiled
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.missing import Missing
from tests.golden.truth import COMPLETE, Difference, differing

KEYS = (*ROW_KEYS, "fields")


def reader(server: Java, compiler: Path, folder: Path) -> Java:
    """VendorJson, compiled against the classes of a release; in older ones those of records are in another package."""
    source = folder / "VendorJson.java"
    text = Path(__file__).with_name("VendorJson.java").read_text()
    (clients,) = server.folders[0].glob("kafka-clients-*.jar")
    with zipfile.ZipFile(clients) as jar:
        if "org/apache/kafka/common/record/MemoryRecords.class" in jar.namelist():
            text = text.replace("common.record.internal.", "common.record.")
    source.write_text(text)
    return compiled([source], server, compiler, folder / "classes")


def compared(capture: Path, server: Java, folder: Path) -> tuple[Difference, int]:
    """compare() with the classes of a server's release; skips the test where they cannot be compiled."""
    try:
        compiler = fetched(COMPILER, server.path)
    except Missing as missing:
        pytest.skip(str(missing))
    found, values = compare(capture, reader(server, compiler, folder))
    print(found.report(), f"{values} values", sep="\n")
    return found, values


def compare(capture: Path, vendor: Java) -> tuple[Difference, int]:
    """All differences, by cause, and how many single values were compared. `vendor` runs the class VendorJson."""
    found, values = Difference(), 0
    with Session([capture]).load() as session:
        columns = RowReader(session).read_columns(KEYS, np.arange(len(session.rows)))
        cells = (dict(zip(KEYS, row, strict=True)) for row in zip(*columns, strict=True))
        rows = [json.loads(COMPLETE.format_line(each)) for each in cells]
        requested = []
        for index, row in enumerate(rows):
            requested.append(f"{row['role']} {row['code']} {row['version']} {read_message(session, index)[4:].hex()}\n")
    answers = vendor.run("VendorJson", text="".join(requested)).splitlines()
    for row, answer in zip(rows, answers, strict=True):
        found.compared += 1
        truth = json.loads(answer)
        left = truth.pop("_left")
        if left != row["fields"].get("_rest", {"length": 0})["length"]:
            found.add("rest", f"{row['operation']} {row['version']}: {left} bytes are left")
        values += counted(truth)
        for path, sample in differing(row["fields"], truth):
            found.add(f"{row['role']} {row['operation']} v{row['version']} {path}", sample)
    return found, values


def counted(value: Any) -> int:
    """The values within a value that have none within."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 1 if inner is None else sum(map(counted, inner))
