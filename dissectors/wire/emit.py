"""The values decoder: a plan written out as Python source, and compiled.

Theory. To walk the steps of a plan for every message costs a branch for each step; the emitted source costs only the
values. Neighbours of fixed width become one struct.unpack_from, together with the length or the count that follows
them. An array of integers and the fields behind it are one call too, by a format made for its count. An array of
structs of fixed width is one iter_unpack.

The emitted function reads `d` from offset `p` and returns the values and the offset behind them, for example

    def decode(d, p, budget):
        e = len(d)
        v1, n2, = s3(d, p); p += 4
        if n2 >= 0: q = p + n2; v4 = d[p:q].decode(); p = q
        else: raise Unfit
        return {"errorCode": v1, "host": v4}, p

It does not check whether a slice ran over the end: `p` only grows, so the next read fails, and the caller compares the
last `p` with the end. On bytes that do not fit, it fails with one of FAILURES, at any place and without a reason; the
field decoder then reads them again and reports the problem. Counts are compared with the remaining bytes before the
function loops or allocates.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from dissectors.errors import DecodeError
from dissectors.wire.budget import Budget
from dissectors.wire.decoder_writer import DecoderWriter, Wanted
from dissectors.wire.dialect import SizedBytes
from dissectors.wire.plan import Leaf, Plan, Switch
from dissectors.wire.source_writer import compile_source
from dissectors.wire.varint import Unfit

FAILURES = (struct.error, IndexError, UnicodeDecodeError, Unfit, DecodeError)
"""What an emitted decoder raises on bytes that do not fit; anything else is a bug."""

Decode: TypeAlias = Callable[[bytes, int, Budget], tuple[dict[str, Any], int]]
Skip: TypeAlias = Callable[[bytes, int, int, Budget], tuple[int, int]]
"""Passes over structs that lie whole in data from an offset on, at most so many: how many, and the offset behind."""


@lru_cache(maxsize=1024)
def values_decoder(plan: Plan) -> Decode:
    """Returns the decoder of a plan to plain values."""
    decode: Decode = compile_source(_write_plan(plan, {}), "decode")
    return decode


@lru_cache(maxsize=256)
def projection(plan: Plan, paths: frozenset[tuple[str, ...]]) -> Decode:
    """Compiles a decoder of the fields in `paths` only (tuples of names, arrays implicit)."""
    wanted: dict[str, Any] = {}
    for path in sorted(paths, key=len, reverse=True):
        inside = wanted
        for name in path[:-1]:
            inside = inside.setdefault(name, {})
        inside[path[-1]] = {}
    decode: Decode = compile_source(_write_plan(plan, wanted), "decode")
    return decode


def compile_skip(plan: Plan, end: bytes | None) -> Skip:
    """Compiles what passes over structs with the steps of a plan; it stops where one does not fit.

    It also stops before a struct that begins with the value `end`. The steps then begin with bytes behind their length.
    """
    writer = DecoderWriter(_decode_switch)
    writer.line("def skip(d, p, most, budget):")
    writer.depth += 1
    writer.line("e = len(d); n = 0; at = p")
    writer.line("try:")
    writer.depth += 1
    writer.line("for n in range(most):")
    writer.depth += 1
    steps = plan.steps
    if end is not None:
        first, *others = steps
        assert isinstance(first, Leaf)
        assert isinstance(first.primitive, SizedBytes)
        size, steps = writer.number(first.primitive.length), tuple(others)
        writer.line(f"if {size} == {len(end)} and d.startswith({end!r}, p): break")
        writer.skip_content(first.primitive, size)
    writer.members(steps, {}, False)
    writer.flush()
    writer.line("if p > e: break")
    writer.line("at = p")
    writer.depth -= 1
    writer.line("else: n = most")
    writer.depth -= 1
    writer.line(f"except {writer.constant('f', FAILURES)}: pass")
    writer.line("return n, at")
    skip: Skip = compile_source(writer, "skip")
    return skip


def source(plan: Plan) -> str:
    """Returns the text of a plan's decoder."""
    return _write_plan(plan, {}).text()


def _write_plan(plan: Plan, wanted: Wanted) -> DecoderWriter:
    writer = DecoderWriter(_decode_switch)
    writer.line("def decode(d, p, budget):")
    writer.depth += 1
    writer.line("e = len(d)")
    expression = writer.members(plan.steps, wanted, True)
    writer.flush()
    writer.line(f"return {expression}, p")
    return writer


def _decode_switch(step: Switch, d: bytes, p: int, end: int, budget: Budget, values: dict[str, Any]) -> int:
    """Adds the members that the bytes tell to the values of the struct; returns the offset behind them."""
    data = d if end == len(d) else d[:end]
    members, p = values_decoder(step.choose(data, p, end, str))(data, p, budget)
    values.update(members)
    return p
