"""What properties of hostile bytes share: other bytes anywhere in a message."""

from __future__ import annotations

from hypothesis import strategies as st

_FEW = st.binary(max_size=4)


def damage(
    content: bytes, data: st.DataObject, most: int = 4, first: int = 0, pieces: st.SearchStrategy[bytes] = _FEW
) -> bytes:
    """A message of which up to `most` places from `first` on have lost some bytes, or got others."""
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, most))):
        at = data.draw(st.integers(min(first, len(changed)), len(changed)))
        removed = data.draw(st.integers(0, 4))
        changed[at : at + removed] = data.draw(pieces)
    return bytes(changed)
