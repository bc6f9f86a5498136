"""Here a dissector's defect is no finding but a failure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analyzer.messages.defects import DEBUG


@pytest.fixture(autouse=True, scope="module")
def defects_are_raised() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DEBUG, "1")
        yield
