"""The texts of the rows of a template, put together as one piece of memory.

Theory. A TemplateDecoder gives texts of alike rows as cells (analyzer.decode.template_decoder). What is too long for
cells stands between them, as texts of its own. All are collected as bytes, and become the buffer of an Arrow array.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, chain, pairwise, repeat, starmap
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from analyzer.columns import cells
from analyzer.columns.arrays import Ints
from analyzer.columns.cells import Cells
from analyzer.decode.template_decoder import TemplateGroup
from analyzer.tables.arrow_columns import slice_texts
from dissectors.symbolic_values import WrittenValue


class TextPieces(NamedTuple):
    """Texts of so many bytes each (n): all of them, in whatever pieces."""

    pieces: list[bytes]
    sizes: Ints

    @classmethod
    def from_texts(cls, texts: list[bytes]) -> Self:
        """Each in a piece of its own."""
        return cls(texts, np.fromiter(map(len, texts), np.int64, len(texts)))

    def build_array(self) -> pa.Array:
        """The same in one piece."""
        return slice_texts(b"".join(self.pieces), self.sizes)


def build_group_texts(group: TemplateGroup, slot: str) -> TextPieces:
    """A slot of each row of a group; what is too long for cells is put between them."""
    match, count = group.match, len(group.match.rows)
    known = len(match.splices)
    runs: list[list[bytes | Cells]] = [[]]
    for mark, part in zip(match.template.texts[slot], match.make_parts(slot), strict=True):
        if type(mark) is WrittenValue:
            runs.append([])
        else:
            runs[-1].append(part)
    if len(runs) == 1:
        written = cells.join_cells(runs[0], count)
        return TextPieces([cells.flatten_cells(written)], cells.count_cell_bytes(written))
    columns, sizes = [], np.zeros(count, np.int64)
    longer = [TextPieces.from_texts(mark.write(values)) for mark, values in match.splices[known:]]
    for run, nested in zip(runs, [*longer, None], strict=True):
        texts, size = _split_run(run, count)
        columns.append(texts)
        sizes += size
        if nested is not None:
            columns.append(nested.pieces)
            sizes += nested.sizes
    return TextPieces(list(chain.from_iterable(zip(*columns, strict=False))), sizes)


def _split_run(run: list[bytes | Cells], count: int) -> tuple[Iterable[bytes], Ints | int]:
    """The text of each row by itself, and its size; of one that is the same in all rows there is no end."""
    constant = [part for part in run if type(part) is bytes]
    if len(constant) == len(run):
        text = b"".join(constant)
        return repeat(text), len(text)
    written = cells.join_cells(run, count)
    text, sizes = cells.flatten_cells(written), cells.count_cell_bytes(written)
    return map(text.__getitem__, starmap(slice, pairwise(accumulate(sizes.tolist(), initial=0)))), sizes


def concatenate_pieces(parts: Iterable[TextPieces]) -> TextPieces:
    """Returns the texts of all parts, one after the other."""
    pieces, sizes = zip(*parts, strict=True)
    return TextPieces(list(chain.from_iterable(pieces)), np.concatenate(sizes))
