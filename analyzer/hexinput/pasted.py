"""Messages without a capture: splits, recognises and decodes bytes that a user pasted.

Theory. In a capture the connection shows the direction of a message, and the request for a response. Here there are
only the bytes and the user's options. Without an option, the bytes decide whether a message is a request or a response.
A response is decoded with the operation that the user names. If the user says that the messages belong together, it is
decoded with the request that precedes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from analyzer.messages import defects
from dissectors import registry
from dissectors.api import PREFIX, Context, Dissector, LengthPrefixed, MessageHeader, Role, State
from dissectors.finding import Severity
from dissectors.slotted import replace

FITS = 50
"""Minimum score of a probe that counts as recognition; a lower one is only the best guess."""

FITS_AS_RESPONSE = 20
"""The same for a response whose operation the user names; the bytes of a response show less."""


class PastedMessage(NamedTuple):
    """One message, with the header and context to decode it."""

    data: bytes
    header: MessageHeader
    context: Context


class Recognition(NamedTuple):
    """The dissector with the best score, the score from 0 to 100, and whether that is enough."""

    dissector: Dissector
    confidence: int
    fits: bool


def recognise_among(data: bytes, dissectors: Iterable[Dissector], is_response: bool = False) -> Recognition:
    """Returns the dissector with the highest score for these bytes; the first one if several have it."""
    return _confirm_recognition(_find_surest(data, dissectors, is_response), data)


def _find_surest(data: bytes, dissectors: Iterable[Dissector], is_response: bool) -> Recognition:
    prefix, from_client = data[:PREFIX], False if is_response else None
    probed = ((each, each.probe(prefix, from_client)) for each in dissectors)
    surest, sure = max(probed, key=lambda found: found[1])
    return Recognition(surest, sure, sure >= (FITS_AS_RESPONSE if is_response else FITS))


def recognise_any(data: bytes, is_response: bool = False) -> Recognition:
    """Recognises bytes among all dissectors; imports only those that can score higher than the first."""
    first, *others = registry.names()
    found = _find_surest(data, (registry.by_name(first),), is_response)
    if found.confidence >= registry.CERTAIN:
        others = [name for name in others if registry.may_be_surer(name, data[:PREFIX])]
    found = _find_surest(data, map(registry.by_name, (first, *others)), is_response) if others else found
    return _confirm_recognition(found, data)


def _confirm_recognition(found: Recognition, data: bytes) -> Recognition:
    return found if found.fits else found._replace(fits=_is_announced_response(found.dissector, data))


class MessageBytes(NamedTuple):
    """A message's bytes, and whether they are complete."""

    data: bytes
    whole: bool


class PastedBytes:
    """A Window on pasted bytes from `begin` on; no more bytes will come."""

    __slots__ = ("begin", "data")

    def __init__(self, data: bytes, begin: int) -> None:
        self.data, self.begin = data, begin

    def __len__(self) -> int:
        return len(self.data) - self.begin

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset`, fewer at the end."""
        return self.data[self.begin + offset : self.begin + offset + length]


def cut_messages(data: bytes, dissector: Dissector, from_client: bool | None = None) -> Iterator[MessageBytes]:
    """Splits consecutive messages; bytes after an impossible length stay in one piece."""
    at, framer = 0, dissector.make_framer(from_client is not False, True)
    while at < len(data):
        length = None if framer is None else framer.length(PastedBytes(data, at), True)
        if length is None:
            framer, length = None, _read_prefixed_length(data, at, dissector.framing)
        end = at + length if length > 0 else len(data)
        yield MessageBytes(data[at:end], 0 < length <= len(data) - at)
        at = end


def _read_prefixed_length(data: bytes, at: int, framing: LengthPrefixed | None) -> int:
    """Returns the length of the message at `at`, including its prefix; 0 if it is impossible."""
    if framing is None or len(data) - at < framing.width:
        return 0
    length = int.from_bytes(data[at : at + framing.width])
    return framing.width + length if framing.minimum <= length <= framing.maximum else 0


def decode_by_looks(
    dissector: Dissector, messages: Iterator[MessageBytes], from_client: bool | None
) -> Iterator[PastedMessage]:
    """Decides for each message whether it is a request or a response: as the user says, else by its bytes."""
    for message in messages:
        client = from_client
        if client is None:
            client = _looks_like_request(dissector, message)
        yield _make_pasted(message, dissector.header(message.data[: dissector.prefix], client))


def _looks_like_request(dissector: Dissector, message: MessageBytes) -> bool:
    """Returns whether a message is probably a request.

    If it decodes with errors as a request, but completely as a response, it is a response.
    """
    prefix = message.data[:PREFIX]
    request_score, answers = dissector.probe(prefix, True), dissector.probe(prefix, False)
    if request_score < answers or not answers:
        return request_score >= answers
    data, _, context = _make_pasted(message, dissector.header(message.data[: dissector.prefix], True))
    if all(
        finding.severity is not Severity.ERROR for finding in defects.decode_values(dissector, data, context).findings
    ):
        return True
    data, _, context = _make_pasted(message, dissector.header(message.data[: dissector.prefix], False))
    return not _is_guessed(dissector, data, context)


def _is_guessed(dissector: Dissector, data: bytes, context: Context) -> bool:
    """Returns whether exactly one layout is likely for a response without a request, and decodes it completely."""
    tree = defects.decode_tree(dissector, data, context)
    guessed = any(finding.code == "guessed-layout" for finding in tree.findings)
    return guessed and all(node.spec.type != "undecoded" for node in tree.fields)


def _is_announced_response(dissector: Dissector, data: bytes) -> bool:
    """Returns whether the first message is a response, although its bytes hardly show the protocol."""
    message = next(cut_messages(data, dissector), MessageBytes(b"", False))
    piece = _make_pasted(message, dissector.header(message.data[: dissector.prefix], False))
    return message.whole and piece.context.role is Role.RESPONSE and _is_guessed(dissector, piece.data, piece.context)


def make_responses(
    dissector: Dissector, messages: Iterator[MessageBytes], operation: str, code: int | None, version: int | None
) -> Iterator[PastedMessage]:
    """Makes each message a response to the operation that the user names."""
    for message in messages:
        header = dissector.header(message.data[: dissector.prefix], False)
        if header.role is Role.RESPONSE:
            header = replace(header, operation=operation, code=code, version=version, state=State.COMPLETE)
        yield _make_pasted(message, header)


def pair_pasted(dissector: Dissector, messages: Iterator[MessageBytes]) -> Iterator[PastedMessage]:
    """Pairs requests with responses: a message that answers an earlier one is its response, any other is a request.

    A message that cannot be a request, or is the only one, is a response without a request.
    """
    from copy import deepcopy

    state = dissector.conversation()
    cuts = list(messages)
    for handle, message in enumerate(cuts):
        prefix = message.data[: dissector.prefix]
        tried = deepcopy(state)
        outcome = tried.step(handle, prefix, False)
        if outcome.partner is not None or len(cuts) == 1 or not dissector.probe(prefix, True):
            state = tried
        else:
            outcome = state.step(handle, prefix, True)
        yield _make_pasted(message, outcome.header, outcome.extra)


def _make_pasted(message: MessageBytes, header: MessageHeader, extra: Mapping[str, str] | None = None) -> PastedMessage:
    if not message.whole:
        header = replace(header, state=State.PARTIAL)
    return PastedMessage(message.data, header, Context(header.role, header.code, header.version, extra))
