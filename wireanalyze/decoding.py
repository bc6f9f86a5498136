"""Messages from hex or bytes, without a capture."""

from __future__ import annotations

from analyzer.hexinput import pasted
from analyzer.hexinput.error import HexError
from analyzer.hexinput.forms import parse_dumps, strip_ip
from wireanalyze.errors import DecodeError, translate_errors
from wireanalyze.message import DecodedMessage


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
