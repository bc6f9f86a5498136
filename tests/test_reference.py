"""The generated pages of docs/reference are what docs/generate.py writes today."""

from __future__ import annotations

import pytest

from docs.generate import PAGES, REFERENCE


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_current(name: str) -> None:
    assert (REFERENCE / name).read_text() == PAGES[name](), "run make docs-reference"
