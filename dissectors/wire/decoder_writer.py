"""Writes the source of the values decoder: what each step of a plan becomes (emit.py)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from dissectors.wire.budget import Budget
from dissectors.wire.dialect import Rest, ScannedValue, SizedBytes, Varint
from dissectors.wire.embedded import Holder, embed
from dissectors.wire.plan import Array, DerivedStep, KeyedMembers, Leaf, RestChecksum, Step, Struct, Switch, Tags, When
from dissectors.wire.primitive import LENGTHS, FixedWidth, Length
from dissectors.wire.source_writer import SourceWriter
from dissectors.wire.specs import LayoutSpec

DecodeSwitch: TypeAlias = Callable[[Switch, bytes, int, int, Budget, dict[str, Any]], int]
_FREE = 8
"""Elements of an array that are not counted: most have no more."""

Wanted: TypeAlias = "Mapping[str, Wanted]"
"""Names to decode, each with the names wanted inside of it; an empty mapping wants all that is inside."""


class DecoderWriter(SourceWriter):
    """Writes the decoder of a plan. decode_switch: decodes the members of a Switch into the values of their struct."""

    def __init__(self, decode_switch: DecodeSwitch) -> None:
        super().__init__()
        self.decode_switch = decode_switch
        self.end = "e"

    def number(self, length: Length) -> str:
        """Reads a length, count or presence; returns the variable that holds it as on the wire."""
        name = self.variable("n")
        self.run.append((length.code or "B", name))
        self.flush()
        if length.code is None:
            self.line(f"if {name} > 127: {name}, p = uvarint(d, p - 1)")
        if length.bias:
            self.line(f"{name} -= {length.bias}")
        return name

    def members(self, steps: tuple[Step, ...], wanted: Wanted, keep: bool) -> str:
        """Reads a struct's members; returns the expression of its values, valid after the next flush.

        An empty `wanted` is all of them.
        """
        parts: list[str] = []
        tags: Tags | None = None
        controlling = _find_controlling_members(steps)
        read: dict[str, str] = {}
        begun: str | None = None
        for step in steps:
            if isinstance(step, Tags):
                tags = step
            elif isinstance(step, KeyedMembers):
                return self.write_pairs(step, self.write_parts(parts, begun, keep), wanted, keep)
            elif isinstance(step, When):
                begun = self.write_parts(parts, begun, keep)
                self.write_conditional(step, read, begun, wanted, keep)
            elif isinstance(step, Switch):
                begun = self.write_parts(parts, begun, keep)
                decode = self.constant("f", partial(self.decode_switch, step))
                self.line(f"p = {decode}(d, p, {self.end}, budget, {begun if keep else '{}'})")
            else:
                parts += self.member(step, wanted, keep, controlling, read)
        leaves = [step for step in steps if isinstance(step, Leaf) and keep and not wanted]
        derived = [each for leaf in leaves for each in leaf.derived if type(each).add is not DerivedStep.add]
        if derived or (begun is not None and keep):
            expression = self.write_parts(parts, begun, keep)
            for each in derived:
                self.line(f"{self.constant('f', each.add)}({expression}, budget)")
        else:
            expression = "{" + ", ".join(parts) + "}"
        return expression if tags is None else self.tags(tags, expression, wanted, keep)

    def member(
        self, step: Leaf | Struct | Array, wanted: Wanted, keep: bool, controlling: set[str], read: dict[str, str]
    ) -> list[str]:
        """Reads a member; returns it as items of a dict. `read` gets the values that other members ask for."""
        name = step.spec.name
        bits = step.bits if isinstance(step, Leaf) else ()
        specs = (step.spec, *(each.spec for each in bits))
        included = {
            spec.name
            for spec in specs
            if keep and (not wanted or spec.name in wanted) and not isinstance(spec, LayoutSpec)
        }
        needed = bool(included) or not controlling.isdisjoint(spec.name for spec in specs)
        value = self.step(step, wanted.get(name, {}), needed)
        if name in controlling:
            read[name] = value
        if name in included and isinstance(step, Leaf) and step.secret_by is not None:
            value = f"{self.constant('f', step.secret_by.hide)}({read[step.secret_by.member]}, {value})"
        items = [f'"{name}": {value}'] if name in included else []
        for check in step.derived if isinstance(step, Leaf) and name in included else ():
            if isinstance(check, RestChecksum):
                self.flush()
                self.line(f"if {self.constant('f', check.compute)}(d[p:{self.end}]) != {value}: raise Unfit")
                items.append(f'"{check.valid.name}": True')
        for each in bits:
            expression = f"({value} & {each.mask}) >> {each.shift}"
            if each.names:
                expression = f"{self.constant('w', each.names)}[{expression}]"
            elif each.spec.type == "bool":
                expression = f"{value} & {each.mask} != 0"
            if each.spec.name in controlling:
                read[each.spec.name] = f"({expression})"
            if each.spec.name in included:
                items.append(f'"{each.spec.name}": {expression}')
        return items

    def write_parts(self, parts: list[str], begun: str | None, keep: bool) -> str:
        """Puts members that were read into the dict that was begun; returns its variable."""
        self.flush()
        if begun is None:
            begun = self.variable("v")
            if keep:
                self.line(f"{begun} = {{{', '.join(parts)}}}")
        elif keep and parts:
            self.line(f"{begun}.update({{{', '.join(parts)}}})")
        parts.clear()
        return begun

    def write_conditional(self, step: When, read: dict[str, str], begun: str, wanted: Wanted, keep: bool) -> None:
        """Reads a member into the dict that was begun, if it is there."""
        value = f"p < {self.end}" if step.needs_remaining_bytes else read[step.member]
        test = value if step.values is None else f"{value} in {self.constant('w', step.values)}"
        self.line(f"if {test}:")
        self.depth += 1
        self.write_parts(self.member(step.step, wanted, keep, set(), read), begun, keep)
        self.line("pass")
        self.depth -= 1

    def write_pairs(self, step: KeyedMembers, values: str, wanted: Wanted, keep: bool) -> str:
        """Reads pairs of key and value up to the end of the part into the dict `values`."""
        key = self.variable("k")
        self.line(f"while p < {self.end}:")
        self.depth += 1
        self.line("if not budget.take(1): raise Unfit")
        self.line(f"{key}, p = uvarint(d, p)")
        for member, value, is_included in self.write_switch(key, step.steps, wanted, keep):
            name = member.spec.name
            many = f'{values}.setdefault("{name}", []).append({value})'
            self.line((many if name in step.many else f'{values}["{name}"] = {value}') if is_included else "pass")
        self.line("else: raise Unfit")
        self.depth -= 1
        return values if keep else "{}"

    def write_switch(
        self, key: str, steps: Mapping[int, Leaf | Struct | Array], wanted: Wanted, keep: bool
    ) -> Iterator[tuple[Leaf | Struct | Array, str, bool]]:
        """Writes a branch for each member by its key; yields the member, its expression and whether it is kept.

        What the caller writes before it asks for the next member stands in the branch, behind the member's value.
        """
        word = "if"
        for number, member in steps.items():
            name = member.spec.name
            is_included = keep and (not wanted or name in wanted)
            self.line(f"{word} {key} == {number}:")
            self.depth += 1
            value = self.step(member, wanted.get(name, {}), is_included)
            self.flush()
            yield member, value, is_included
            self.depth -= 1
            word = "elif"

    def part(self, step: Struct, length: Length, wanted: Wanted, keep: bool) -> str:
        """Reads a struct behind its length, all of which its members must take."""
        size, before, end = self.number(length), self.end, self.variable("x")
        self.line(f"{end} = p + {size}")
        self.line(f"if {size} < 0 or {end} > {before}: raise Unfit")
        self.end = end
        values, expression = self.variable("v"), self.members(step.steps, wanted, keep)
        self.flush()
        if isinstance(step.spec, Holder):
            name = self.constant("h", step.spec.holds)
            expression = f"{self.constant('f', embed)}(d[{end} - {size}:{end}], {expression}, {name})"
        self.line(f"{values} = {expression}" if keep else "pass")
        self.line(f"if p != {end}: raise Unfit")
        self.end = before
        return values if keep else "{}"

    def step(self, step: Leaf | Struct | Array, wanted: Wanted, keep: bool) -> str:
        """Reads one member; returns the expression of its value, valid after the next flush."""
        if isinstance(step, Leaf):
            return self.leaf(step, keep)
        if isinstance(step, Array):
            return self.array(step, wanted, keep)
        if step.length is not None:
            return self.part(step, step.length, wanted, keep)
        if step.presence is None:
            return self.members(step.steps, wanted, keep)
        count = self.number(step.presence)
        result = self.variable("v")
        self.line(f"if {count} == -1: {result} = None")
        self.line(f"elif {count} < 0: raise Unfit")
        self.line("else:")
        self.depth += 1
        expression = self.members(step.steps, wanted, keep)
        self.flush()
        self.line(f"{result} = {expression}")
        self.depth -= 1
        return result

    def leaf(self, step: Leaf, keep: bool) -> str:
        """Reads a primitive value; returns its expression, or nothing if it is not kept."""
        primitive = step.primitive
        if isinstance(primitive, FixedWidth):
            if not keep:
                self.run.append((f"{primitive.size}x", None))
                return ""
            name = self.variable("v")
            self.run.append((primitive.code, name))
            return self.write_conversion(name, step)
        if isinstance(primitive, ScannedValue):
            self.flush()
            name = self.variable("v")
            self.line(f"{name}, p = {self.constant('f', primitive.scan)}(d, p)")
            return f"Secret({name})" if step.spec.secret else name
        if isinstance(primitive, Varint):
            return self.number(LENGTHS["uvarint"])
        if isinstance(primitive, Rest):
            self.flush()
            name = self.variable("v")
            self.line(f"if p > {self.end}: raise Unfit")  # or else p would go back
            self.line(f"q = {self.end}; {name} = {self.content(step, primitive)}; p = q" if keep else f"p = {self.end}")
            return name
        count = self.number(primitive.length)
        if not keep:
            self.skip_content(primitive, count)
            return ""
        name = self.variable("v")
        self.line(f"if {count} >= 0: q = p + {count}; {name} = {self.content(step, primitive)}; p = q")
        self.line(f"elif {count} == -1: {name} = None" if primitive.nullable else "else: raise Unfit")
        if primitive.nullable and primitive.length.code is not None:
            self.line("else: raise Unfit")
        return name

    def skip_content(self, primitive: SizedBytes, count: str) -> None:
        """Passes over the content behind the length that was read to the variable `count`."""
        if primitive.swells is not None:
            self.line(f"if {count} > 0 and {self.constant('f', primitive.swells)}(d, p, {count}): raise Unfit")
        self.line(f"if {count} > 0: p += {count}")
        self.line(f"elif {count} < {-1 if primitive.nullable else 0}: raise Unfit")

    def content(self, step: Leaf, primitive: SizedBytes | Rest) -> str:
        """The expression of the bytes from p to q."""
        text = "d[p:q]"
        if isinstance(primitive, SizedBytes) and primitive.nested is not None:
            text = f"{self.constant('f', primitive.nested)}({text}, budget)"
        elif primitive.convert is bytes.decode:
            text += ".decode()"
        elif primitive.convert is not None:
            text = f"{self.constant('f', primitive.convert)}({text})"
        return f"Secret({text})" if step.spec.secret else text

    def write_conversion(self, name: str, step: Leaf) -> str:
        """Returns the expression of the plain value of a variable with a number."""
        primitive = step.primitive
        if isinstance(primitive, FixedWidth) and primitive.convert is not None:
            name = f"{self.constant('f', primitive.convert)}({name})"
        return f"Secret({name})" if step.spec.secret else name

    def array(self, step: Array, wanted: Wanted, keep: bool) -> str:
        """Reads an array; returns the variable of its values."""
        if step.count is None:
            return self.until_end(step, wanted, keep)
        count = self.number(step.count)
        self.line(f"if {count} > {_FREE} and not budget.take({count}): raise Unfit")
        result = self.variable("v")
        if not step.nullable:
            return self.elements(step.element, count, result, wanted, keep)
        self.line(f"if {count} == -1: {result} = None")
        self.line("else:")
        self.depth += 1
        self.elements(step.element, count, result, wanted, keep)
        self.flush()
        self.depth -= 1
        return result

    def until_end(self, step: Array, wanted: Wanted, keep: bool) -> str:
        """Reads elements up to the last, or the end of what they stand in; one must take bytes to come to it."""
        self.flush()
        result, begin = self.variable("v"), self.variable("b")
        self.line(f"{result} = []")
        self.line(f"while p < {self.end}:" if step.last is None else f"while not d[p + {step.last.mark}]:")
        self.depth += 1
        self.line(f"{begin} = p")
        self.line("if not budget.take(1): raise Unfit")
        expression = self.step(step.element, wanted, keep)
        self.flush()
        if keep:
            self.line(f"{result}.append({expression})")
        self.line(f"if p == {begin}: raise Unfit")
        self.depth -= 1
        if step.last is not None:
            self.step(step.last.struct, {}, False)
            self.flush()
        return result

    def elements(self, element: Leaf | Struct, count: str, result: str, wanted: Wanted, keep: bool) -> str:
        """Reads the elements of an array into the variable `result`."""
        row = _find_fixed_row(element)
        if row is not None:
            self.rows(element, row, count, result, wanted, keep)
            return result
        self.line(f"if not 0 <= {count} * {max(element.minimum, 1)} <= {self.end} - p: raise Unfit")
        tagged = None if not isinstance(element, Struct) else _find_fixed_row_with_tags(element)
        if tagged is None:
            self.loop(element, count, result, wanted, keep)
            return result
        size = sum(leaf.primitive.size for leaf in tagged) + 1
        tail = self.variable("x")
        self.line(f"q = p + {count} * {size}; {tail} = d[p:q]")
        self.line(f"if {tail}[{size - 1}::{size}].count(0) == {count}:")
        self.depth += 1
        if keep:
            self.line(f"{result} = {self.comprehension(element, tagged, tail, 'x', wanted)}")
        self.line("p = q")
        self.depth -= 1
        self.line("else:")
        self.depth += 1
        self.loop(element, count, result, wanted, keep)
        self.depth -= 1
        return result

    def rows(
        self, element: Leaf | Struct, row: tuple[Leaf, ...], count: str, result: str, wanted: Wanted, keep: bool
    ) -> None:
        """Elements of fixed width: one call for all of them."""
        size = sum(leaf.primitive.size for leaf in row)
        only = element.primitive if isinstance(element, Leaf) else None
        if keep and isinstance(only, FixedWidth) and only.convert is None and not element.spec.secret:
            self.repeat = (result, count, only)
            return
        self.line(f"if not 0 <= {count} * {max(size, 1)} <= {self.end} - p: raise Unfit")
        if keep:
            self.line(f"q = p + {count} * {size}")
            rows = self.comprehension(element, row, "d[p:q]", "", wanted) if row else f"[{{}} for _ in range({count})]"
            self.line(f"{result} = {rows}; p = q")
        else:
            self.line(f"p += {count} * {size}")

    def comprehension(self, element: Leaf | Struct, row: tuple[Leaf, ...], data: str, tail: str, wanted: Wanted) -> str:
        """A list of all elements of fixed width in the bytes `data`."""
        leaves = [leaf for leaf in row if isinstance(element, Leaf) or not wanted or leaf.spec.name in wanted]
        names = {id(leaf): self.variable("v") for leaf in leaves}
        codes = "".join(_code(leaf) if id(leaf) in names else f"{leaf.primitive.size}x" for leaf in row)
        rows = self.constant("s", struct.Struct(">" + codes + tail).iter_unpack)
        values = [self.write_conversion(names[id(leaf)], leaf) for leaf in leaves]
        if isinstance(element, Leaf):
            body = values[0]
        else:
            body = "{" + ", ".join(f'"{leaf.spec.name}": {v}' for leaf, v in zip(leaves, values, strict=True)) + "}"
        targets = ", ".join(names.values()) + "," if names else "_"
        return f"[{body} for {targets} in {rows}({data})]"

    def loop(self, element: Leaf | Struct, count: str, result: str, wanted: Wanted, keep: bool) -> None:
        """Elements of any width, one by one."""
        if keep:
            self.line(f"{result} = []")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        expression = self.step(element, wanted, keep)
        self.flush()
        self.line(f"{result}.append({expression})" if keep else "pass")
        self.depth -= 1

    def tags(self, tags: Tags, expression: str, wanted: Wanted, keep: bool) -> str:
        """Reads a tagged section behind the members whose values are `expression`."""
        count = self.variable("n")
        self.run.append(("B", count))
        self.flush()
        values = self.variable("v") if keep else expression
        if keep:
            self.line(f"{values} = {expression}")
        self.line(f"if {count}:")
        self.depth += 1
        self.line(f"if {count} > 127: {count}, p = uvarint(d, p - 1)")
        self.line(f"if {count} * 2 > {self.end} - p: raise Unfit")
        unknown, tag, end = self.variable("u"), self.variable("t"), self.variable("e")
        self.line(f"{unknown} = []")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        self.line(f"{tag}, p = uvarint(d, p); {end}, p = uvarint(d, p); {end} += p")
        self.line(f"if {end} > e: raise Unfit")
        for member, value, is_included in self.write_switch(tag, tags.steps, wanted, keep):
            if is_included:
                self.line(f'{values}["{member.spec.name}"] = {value}')
            self.line(f"if p != {end}: raise Unfit")
        skipped = f"p = {end}"
        if keep and not wanted:
            skipped = f'{unknown}.append({{"tag": {tag}, "data": d[p:{end}]}}); {skipped}'
        self.line(f"else: {skipped}" if tags.steps else skipped)
        self.depth -= 1
        if keep and not wanted:
            self.line(f'if {unknown}: {values}["_unknownTaggedFields"] = {unknown}')
        self.depth -= 1
        return values


def _find_controlling_members(steps: Iterable[Step]) -> set[str]:
    """Names of members that tell something of others: whether they are there, whether they are secret."""
    controlling = {step.member for step in steps if isinstance(step, When)}
    leaves = (step.step if isinstance(step, When) else step for step in steps)
    return controlling | {
        leaf.secret_by.member for leaf in leaves if isinstance(leaf, Leaf) and leaf.secret_by is not None
    }


def _code(leaf: Leaf) -> str:
    assert isinstance(leaf.primitive, FixedWidth)
    return leaf.primitive.code


def _find_fixed_row(element: Leaf | Struct) -> tuple[Leaf, ...] | None:
    """The leaves of an element when all of them are of fixed width."""
    if isinstance(element, Leaf):
        return (element,) if isinstance(element.primitive, FixedWidth) else None
    if element.presence is not None or element.length is not None:
        return None
    leaves = tuple(step for step in element.steps if isinstance(step, Leaf) and isinstance(step.primitive, FixedWidth))
    return leaves if len(leaves) == len(element.steps) and not any(leaf.bits for leaf in leaves) else None


def _find_fixed_row_with_tags(element: Struct) -> tuple[Leaf, ...] | None:
    """The leaves of a flexible struct of fixed width, of which nearly all have an empty tagged section."""
    if element.presence is not None or not element.steps or not isinstance(element.steps[-1], Tags):
        return None
    return _find_fixed_row(Struct(element.spec, element.steps[:-1]))
