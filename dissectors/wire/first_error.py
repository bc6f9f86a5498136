"""The first error code that a message reports, found by a function that is written for its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dissectors.wire.plan import Array, Group, Leaf, Plan, Step, Struct, inside
from dissectors.wire.source_writer import SourceWriter, compile_source

First: TypeAlias = Callable[[dict[str, Any]], int]


def first_nonzero(plan: Plan, enum: str) -> First:
    """Compiles a function that returns the first nonzero value of fields with an enum, in wire order."""
    writer = SourceWriter()
    writer.line("def first(v):")
    writer.depth += 1
    _search(writer, plan.steps, enum, "v", False)
    writer.line("return 0")
    first: First = compile_source(writer, "first")
    return first


def _search(writer: SourceWriter, steps: tuple[Step, ...], enum: str, values: str, tagged: bool) -> None:
    for step in steps:
        if isinstance(step, Group):
            _search(writer, inside(step), enum, values, True)
            continue
        key = f'{values}.get("{step.spec.name}")' if tagged else f'{values}["{step.spec.name}"]'
        if isinstance(step, Leaf):
            if step.enum == enum:
                found = writer.variable("c")
                writer.line(f"{found} = {key}")
                writer.line(f"if {found}: return {found}")
        elif _has(step, enum):
            inner = writer.variable("v")
            element = step.element if isinstance(step, Array) else step
            writer.line(f"for {inner} in {key} or ():" if isinstance(step, Array) else f"{inner} = {key}")
            if not isinstance(step, Array):
                writer.line(f"if {inner} is not None:")
            writer.depth += 1
            assert isinstance(element, Struct)
            _search(writer, element.steps, enum, inner, False)
            writer.depth -= 1


def _has(step: Step, enum: str) -> bool:
    if isinstance(step, Leaf):
        return step.enum == enum
    if isinstance(step, Array) and isinstance(step.element, Leaf):
        return False
    return any(_has(member, enum) for member in inside(step))
