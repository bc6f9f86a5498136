"""SVG documents that load nothing and run nothing: the common parts of the diagrams of this package."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape


def write_document(width: int, height: int, style: str, body: Iterable[str]) -> str:
    """Writes a document on a white background. style: CSS. body: elements."""
    lines = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f'<style>{style}</style>\n<rect width="100%" height="100%" fill="#ffffff"/>\n{lines}\n</svg>\n'
    )


def write_text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """Writes a text. kind: its class. anchor: the end of the text at `x`."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def cut(text: str, most: int) -> str:
    """Cuts a text to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
