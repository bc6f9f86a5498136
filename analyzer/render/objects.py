"""Writes objects with the same keys in any form for programs: JSON lines, a JSON array, csv, tsv."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from analyzer.decode.jsonable import JsonWriter, Limits

TOGETHER = 4096
"""Number of objects that are written at a time."""

FORMS = ("ndjson", "json", "csv", "tsv")


class Out(Protocol):
    """A destination for printed bytes."""

    def write(self, data: bytes, /) -> object:
        """Writes one piece of bytes."""

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Writes several pieces of bytes."""


class JsonArray:
    """Writes lines of JSON, each an object, as the items of one array. `end` writes the end of the array.

    begun: whether some have been written already.
    """

    def __init__(self, out: Out, *, begun: bool = False) -> None:
        self._out, self._begun = out, begun

    def write(self, data: bytes, /) -> None:
        """Writes one or more whole lines as elements of the array."""
        if data:
            self._out.write(b",\n" if self._begun else b"[\n")
            self._out.write(data[:-1].replace(b"\n", b",\n"))
            self._begun = True

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Writes several pieces, each of whole lines, as elements of the array."""
        for line in lines:
            self.write(line)

    def end(self) -> None:
        """Writes the end of the JSON array; if it has no items, the whole empty array."""
        self._out.write(b"\n]\n" if self._begun else b"[]\n")


def write_objects(
    out: Out, form: str, keys: Sequence[str], objects: Iterable[Mapping[str, Any]], limits: Limits | None = None
) -> None:
    """Writes objects in one of FORMS. keys: the columns of csv and tsv; missing values are empty there."""
    writer = JsonWriter(limits)
    if form == "ndjson":
        for each in objects:
            out.write(writer.format_line(each))
    elif form == "json":
        array = JsonArray(out)
        array.writelines(map(writer.format_line, objects))
        array.end()
    else:
        from analyzer.render.delimited import DELIMITERS, format_delimited, format_header  # brings NumPy

        delimiter = DELIMITERS[form]
        out.write(format_header(keys, delimiter))
        for part in _split_parts(objects):
            out.write(format_delimited([[each.get(key) for each in part] for key in keys], delimiter, writer))


def _split_parts(objects: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    source = iter(objects)
    while part := list(islice(source, TOGETHER)):
        yield part
