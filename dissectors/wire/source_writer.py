"""Python source that is written line by line and compiled. Nothing else in the project makes code of data.

Theory. A SourceWriter numbers variables, keeps constants beside the text, and merges neighbours of fixed width into one
struct.unpack_from: they wait in `run` until flush() writes them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from dissectors.wire.primitive import FixedWidth
from dissectors.wire.secret import Secret
from dissectors.wire.varint import Unfit, uvarint


class Repeats(dict[int, Callable[[bytes, int], tuple[Any, ...]]]):
    """unpack_from of `count` times a code and then a fixed tail, by count; only small counts are kept."""

    def __init__(self, code: str, tail: str) -> None:
        super().__init__()
        self.code = code
        self.tail = tail

    def __missing__(self, count: int) -> Callable[[bytes, int], tuple[Any, ...]]:
        if count < 0:
            raise Unfit
        unpack = struct.Struct(f">{count}{self.code}{self.tail}").unpack_from
        if count <= 64:
            self[count] = unpack
        return unpack


class SourceWriter:
    """The source being written. `run` holds neighbours of fixed width not read yet: (format, variable or None)."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self.names: dict[str, Any] = {"uvarint": uvarint, "Unfit": Unfit, "Secret": Secret}
        self.serial = 0
        self.run: list[tuple[str, str | None]] = []
        self.repeat: tuple[str, str, FixedWidth] | None = None

    def text(self) -> str:
        """Returns the source written so far."""
        return "\n".join(self.lines) + "\n"

    def line(self, text: str) -> None:
        """Writes a line at the depth that is set."""
        self.lines.append("    " * self.depth + text)

    def variable(self, prefix: str) -> str:
        """Returns a new name for a variable."""
        self.serial += 1
        return f"{prefix}{self.serial}"

    def constant(self, prefix: str, value: object) -> str:
        """Returns a new name for an object that the source uses."""
        name = self.variable(prefix)
        self.names[name] = value
        return name

    def flush(self) -> None:
        """Writes the pending array of integers and the run behind it as one read."""
        tail = "".join(code for code, _ in self.run)
        size = struct.calcsize(">" + tail)
        targets = [target for _, target in self.run if target is not None]
        if self.repeat is not None:
            values, count, element = self.repeat
            table = self.constant("t", Repeats(element.code, tail))
            self.line(f"*{values}, {''.join(f'{target}, ' for target in targets)}= {table}[{count}](d, p)")
            self.line(f"p += {count} * {element.size} + {size}" if size else f"p += {count} * {element.size}")
        elif tail == "B" and targets:
            self.line(f"{targets[0]} = d[p]; p += 1")
        elif targets:
            unpack = self.constant("s", struct.Struct(">" + tail).unpack_from)
            self.line(f"{', '.join(targets)}, = {unpack}(d, p); p += {size}")
        elif size:
            self.line(f"p += {size}")
        self.run.clear()
        self.repeat = None


def compile_source(writer: SourceWriter, name: str) -> Any:
    """Returns the function `name` of what was written: the one place that runs code made of a plan."""
    exec(compile(writer.text(), "<plan>", "exec"), writer.names)  # noqa: S102
    return writer.names[name]
