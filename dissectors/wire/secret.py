"""A value that no view shows unless asked for: passwords, tokens, salts."""

from __future__ import annotations

from dissectors.slotted import make_slotted


@make_slotted
class Secret:
    """Bytes or text that must be masked. `reveal` is the only way to the content, so that it can be searched for."""

    _content: bytes | str

    def reveal(self) -> bytes | str:
        """Returns the content itself, for the one flag that asks for it."""
        return self._content

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return f"<secret, {len(self._content)} long>"

    __str__ = __repr__


@make_slotted
class VeiledSecret(Secret):
    """A symbolic secret: it stands for all secrets of its length, and has no content."""

    _length: int = 0

    @classmethod
    def with_length(cls, length: int) -> VeiledSecret:
        """Makes a secret of so many bytes."""
        return cls("", length)

    def reveal(self) -> bytes | str:
        """Raises an error, because the content is unknown; decode the message itself to get it."""
        raise TypeError("a secret that stands for others is not revealed")

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<secret, {self._length} long>"

    __str__ = __repr__
