"""The page of docs/reference about the Python package, from its names, signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

import wireanalyze

NOTE = (
    "`import wireanalyze as wa` reads captures in Python ([how to](../how-to/python.md)). The names on this page are "
    "public: they change with the major version only."
)


class Annotation:
    """A type as it is written in the code."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def describe_signature(name: str, value: Callable[..., object]) -> str:
    """Returns `name(parameters) -> result` as it is written in the code, without `self`."""
    signature = inspect.signature(value)
    kept = [
        each.replace(annotation=Annotation(each.annotation))
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    return f"{name}{signature.replace(parameters=kept, return_annotation=Annotation(signature.return_annotation))}"


def list_members(kind: type) -> Iterator[tuple[str, object]]:
    """Yields the public methods and properties that a class of wireanalyze defines or inherits from another of its."""
    found: dict[str, object] = {}
    for each in reversed(kind.__mro__):
        if each.__module__.startswith("wireanalyze."):
            found |= {name: value for name, value in vars(each).items() if not name.startswith("_")}
    yield from ((name, value) for name, value in found.items() if isinstance(value, property) or callable(value))


def describe_public() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yields each public name with its signature and docstring, and the same of the members of classes."""
    for name in wireanalyze.__all__:
        value = getattr(wireanalyze, name)
        text = inspect.getdoc(value) or ""
        if not inspect.isclass(value):
            yield describe_signature(name, value), text, []
            continue
        members = []
        for member, each in list_members(value):
            if isinstance(each, property):
                result = each.fget.__annotations__["return"] if each.fget else "object"
                members.append((f"{member}: {result}", inspect.getdoc(each) or ""))
            elif callable(each):
                members.append((describe_signature(member, each), inspect.getdoc(each) or ""))
        bases = ", ".join(base.__name__ for base in value.__bases__ if base.__module__ != "builtins")
        yield f"class {name}{f'({bases})' if bases and issubclass(value, Exception) else ''}", text, members


def format_docstring(text: str) -> str:
    """Returns a docstring as Markdown: arguments as a list, examples as a block."""
    text = re.sub(r"^(>>> .*?)(?=\n\n|\Z)", r"```pycon\n\1\n```", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^Args:\n", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\n {8,}(?=\S)", " ", text)
    return re.sub(r"^    (\w+): ", r"- `\1`: ", text, flags=re.MULTILINE).strip()


def write_page() -> str:
    """Returns the page."""
    text = f"# Python\n\n{NOTE}\n\n"
    for title, about, members in describe_public():
        name = re.sub(r"^class |\(.*", "", title, flags=re.DOTALL)
        text += f"## {name}\n\n```python\n{title}\n```\n\n{format_docstring(about)}\n\n"
        for member, about_it in members:
            text += f"- `{member}`: {' '.join(format_docstring(about_it).split())}\n" if "\n\n" not in about_it else ""
            text += f"\n**`{member}`**\n\n{format_docstring(about_it)}\n\n" if "\n\n" in about_it else ""
        text += "\n" if members else ""
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"
