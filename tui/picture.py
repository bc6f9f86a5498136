"""Renders the three panes as an SVG picture.

Usage: python -m tui.picture CAPTURE OUT.svg. The picture shows the first message whose tree has record batches in it,
or the first message. It loads no font: a viewer without the fonts that it names uses its own monospaced font.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

from analyzer.decode.bodies import decode_tree
from analyzer.session import Session
from dissectors.field import Field
from tui.app import TuiApp
from tui.inputs import StartOptions

SIZE = (150, 40)
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def render_picture(capture: Path) -> str:
    """Returns an SVG of the panes for a capture, with a message that has records selected."""
    with Session([capture]) as session:
        return asyncio.run(_paint(session, capture.name))


async def _paint(session: Session, title: str) -> str:
    window = TuiApp(session, StartOptions(title, colours="dark"))
    async with window.run_test(size=SIZE) as pilot:
        while window.main.ingest.is_reading:
            await pilot.pause(0.01)
        window.main.timeline.select_row(choose_row(session))
        await pilot.pause()
        await pilot.press("tab", *["down"] * 20)
        await pilot.pause()
        return strip_fonts(window.export_screenshot(title=title))


def choose_row(session: Session) -> int:
    """Returns the first row whose tree has several records, or row 0."""
    rows = range(len(session.rows))
    return next((row for row in rows if _has_records(decode_tree(session, row).fields)), 0)


def _has_records(nodes: list[Field]) -> bool:
    return any("records" in (node.spec.name, node.spec.type) and len(node.children) > 1 for node in _walk_fields(nodes))


def _walk_fields(nodes: list[Field]) -> Iterator[Field]:
    for node in nodes:
        yield node
        yield from _walk_fields(node.children)


def strip_fonts(svg: str) -> str:
    """Removes the fonts that the picture would load from other hosts."""
    return re.sub(r"@font-face\s*{[^}]*}", "", svg).replace("Fira Code, monospace", FONTS)


def main() -> None:
    """Writes the picture that the command line asks for."""
    options = argparse.ArgumentParser(prog="python -m tui.picture", description=__doc__.partition("\n")[0])
    options.add_argument("capture", type=Path)
    options.add_argument("out", type=Path)
    chosen = options.parse_args()
    chosen.out.write_text(render_picture(chosen.capture))


if __name__ == "__main__":
    main()
