"""CRC-32C, found without its package or in it."""

from __future__ import annotations

import pytest

from dissectors.wire import checksum


class Nowhere:
    """A finder that finds nothing."""

    @staticmethod
    def find_spec(*_: object) -> None: ...


@pytest.mark.parametrize("missing", [False, True], ids=["beside its package", "in its package"])
def test_it_is_crc32c(missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing:
        monkeypatch.setattr(checksum, "PathFinder", Nowhere)
    assert checksum._find_checksum()(b"123456789") == 0xE3069283  # the check value of the algorithm (RFC 3720, iSCSI)
    assert checksum.crc32c(memoryview(b"123456789")) == 0xE3069283
