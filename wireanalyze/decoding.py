"""Messages from hex or bytes, without a capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.decode.limits import Limits
from analyzer.hexinput import pasted
from analyzer.hexinput.forms import HexError, parse_dumps, strip_ip
from analyzer.messages import defects
from analyzer.render.lines import Line
from dissectors.api import Body
from dissectors.field import Tree
from dissectors.finding import Finding
from wireanalyze.errors import DecodeError, translate_errors
from wireanalyze.message_base import MessageBase

if TYPE_CHECKING:
    from analyzer.hexinput.pasted import PastedMessage
    from dissectors.api import Dissector


class DecodedMessage(MessageBase):
    """A message that was given as bytes, without a capture."""

    __slots__ = ("_dissector", "_piece", "_uncertain")

    def __init__(self, dissector: Dissector, piece: PastedMessage, *, uncertain: bool) -> None:
        self._dissector, self._piece, self._uncertain = dissector, piece, uncertain

    def __repr__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        return f"<DecodedMessage: {self.protocol} {self.operation}{version} {self.role}, {len(self.data)} bytes>"

    @property
    def protocol(self) -> str:
        """The protocol that the bytes were decoded as."""
        return self._dissector.name

    @property
    def role(self) -> str:
        """`request`, `response`, `oneway`, `push` or `raw`."""
        return self._piece.header.role.name.lower()

    @property
    def operation(self) -> str | None:
        """The protocol's own name of what is done."""
        return self._piece.header.operation

    @property
    def code(self) -> int | None:
        """The number of the operation on the wire; None if it is unknown."""
        return self._piece.header.code

    @property
    def version(self) -> int | None:
        """The version of the operation (Kafka); None in other protocols, or if it is unknown."""
        return self._piece.header.version

    @property
    def correlation(self) -> int | str | None:
        """The number that pairs a response with its request; a text if the number has a scope (Pulsar)."""
        return self._piece.header.key

    @property
    def client(self) -> str | None:
        """How the client calls itself."""
        return self._piece.header.client

    @property
    def state(self) -> str:
        """`complete`, `partial`, `guessed` or `undecoded`."""
        return "guessed" if self._uncertain else self._piece.header.state.name.lower()

    @property
    def data(self) -> bytes:
        """The bytes of the message."""
        return self._piece.data

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about this message."""
        return self._decode().findings

    @property
    def info(self) -> str:
        """The summary line of the message."""
        return defects.format_info(self._dissector, self._decode(), self._piece.context)

    @property
    def tree(self) -> Tree:
        """The decoded fields with the place of each; see Message.tree."""
        return defects.decode_tree(self._dissector, self._piece.data, self._piece.context)

    def format_lines(self, *, show_secrets: bool = False) -> Iterator[Line]:
        """Yields the lines that `decode` prints, with their styles."""
        from analyzer.render.message_text import format_message
        from analyzer.render.pasted_message import decode_pasted

        message, tree = decode_pasted(self._dissector, self._piece, self._uncertain)
        return format_message(message, tree, Limits(show_secrets=show_secrets))

    def _decode(self) -> Body:
        return defects.decode_values(self._dissector, self._piece.data, self._piece.context)


def decode(data: str | bytes, *, protocol: str | None = None, request: bool | None = None) -> DecodedMessage:
    """Decodes one message.

    Args:
        data: hex in any form that `wireanalyze decode` takes, such as the output of xxd or tcpdump -X, or bytes.
        protocol: the protocol; None: recognise it.
        request: whether it is a request; None: by its bytes.

    Raises DecodeError for what is no hex, for no message, and for several.

    >>> message = decode("0000000e0012000000000001000461626364")
    >>> message
    <DecodedMessage: kafka ApiVersions v0 request, 18 bytes>
    >>> message.client
    'abcd'
    """
    found = decode_all(data, protocol=protocol, request=request)
    if len(found) != 1:
        raise DecodeError(f"The input has {len(found)} messages. Use decode_all for them.")
    return found[0]


def decode_all(
    data: str | bytes, *, protocol: str | None = None, request: bool | None = None, pair: bool = False
) -> list[DecodedMessage]:
    """Decodes messages that follow each other; see decode().

    pair: a message that answers an earlier one is its response. Raises DecodeError.

    >>> both = decode_all("0000000e0012000000000001000461626364 0000000a00000001000000000000", pair=True)
    >>> [message.role for message in both]
    ['request', 'response']
    """
    from analyzer.render.pasted_message import choose_dissector

    content = _read_hex(data) if isinstance(data, str) else bytes(data)
    if not content:
        raise DecodeError("The input is empty. It must contain hex, or the bytes of a message.")
    with translate_errors(DecodeError):
        dissector, doubt = choose_dissector(content, protocol, is_response=False)
    cut = pasted.cut_messages(content, dissector, request)
    found = pasted.pair_pasted(dissector, cut) if pair else pasted.decode_by_looks(dissector, cut, request)
    return [DecodedMessage(dissector, piece, uncertain=doubt is not None) for piece in found]


def _read_hex(text: str) -> bytes:
    try:
        return b"".join(map(strip_ip, parse_dumps(text)))
    except HexError as error:
        raise DecodeError(f"The input is not hex: {error}.") from None
