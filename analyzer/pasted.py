"""Messages that come without a capture: bytes that somebody pasted, cut, recognised and decoded.

Theory. In a capture the connection says who speaks and what was asked before. Here only the bytes speak, and the user:
a message is taken for a request or a response by what it looks like, unless told; a response is decoded by the
operation that is named, or by the request that stands before it if the user says that they belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

from dissectors.api import PREFIX, Context, Dissector, LengthPrefixed, MessageHeader, Role, State

FITS = 50
"""From here on a probe's answer counts as recognition; below it is the best guess."""

FITS_WHEN_TOLD = 20
"""The same of a response whose operation the user names: its own bytes can't say much."""


class Pasted(NamedTuple):
    """One message, with what is needed to decode it."""

    data: bytes
    header: MessageHeader
    context: Context


class Recognised(NamedTuple):
    """Whose message it is, as far as its bytes tell, how sure that is (0 to 100), and whether that is enough."""

    dissector: Dissector
    confidence: int
    fits: bool


def recognise(data: bytes, dissectors: tuple[Dissector, ...], response_told: bool = False) -> Recognised:
    """The dissector that is surest of these bytes; the first of those that are equally sure."""
    prefix, least = data[:PREFIX], FITS_WHEN_TOLD if response_told else FITS
    probed = ((each, each.probe(prefix, False if response_told else None)) for each in dissectors)
    return max((Recognised(each, sure, sure >= least) for each, sure in probed), key=lambda found: found.confidence)


def cut(data: bytes, framing: LengthPrefixed) -> Iterator[bytes]:
    """The messages that stand back to back; what follows an impossible length is left in one piece."""
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + framing.width])
        possible = len(data) - at >= framing.width and framing.minimum <= length <= framing.maximum
        end = at + framing.width + length if possible else len(data)
        yield data[at:end]
        at = end


def by_looks(dissector: Dissector, messages: Iterator[bytes], from_client: bool | None) -> Iterator[Pasted]:
    """Each message by itself: a request or a response by what it looks like, or as told."""
    for data in messages:
        prefix = data[:PREFIX]
        client = from_client
        if client is None:
            client = dissector.probe(prefix, True) >= dissector.probe(prefix, False)
        yield _pasted(dissector, data, dissector.header(prefix, client))


def responses_to(
    dissector: Dissector, messages: Iterator[bytes], operation: str, code: int, version: int
) -> Iterator[Pasted]:
    """Each message as a response to the operation that the user names."""
    for data in messages:
        header = dissector.header(data[:PREFIX], False)
        if header.role is Role.RESPONSE:
            header = replace(header, operation=operation, code=code, version=version, state=State.COMPLETE)
        yield _pasted(dissector, data, header)


def conversation(dissector: Dissector, messages: Iterator[bytes]) -> Iterator[Pasted]:
    """Requests and their responses: a message that answers an earlier one is its response, any other is a request."""
    state = dissector.conversation()
    for handle, data in enumerate(messages):
        prefix = data[:PREFIX]
        tried = deepcopy(state)
        outcome = tried.step(handle, prefix, False)
        if outcome.partner is not None:
            state = tried
        else:
            outcome = state.step(handle, prefix, True)
        yield _pasted(dissector, data, outcome.header, outcome.extra)


def _pasted(dissector: Dissector, data: bytes, header: MessageHeader, extra: Mapping[str, str] | None = None) -> Pasted:
    width = dissector.framing.width
    if len(data) != width + int.from_bytes(data[:width]):
        header = replace(header, state=State.PARTIAL)
    return Pasted(data, header, Context(header.role, header.code, header.version, extra))
