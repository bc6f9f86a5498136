"""Messages that come without a capture: bytes that somebody pasted, cut, recognised and decoded.

Theory. In a capture the connection says who speaks and what was asked before. Here only the bytes speak, and the user:
a message is taken for a request or a response by what it looks like, unless told; a response is decoded by the
operation that is named, or by the request that stands before it if the user says that they belong together.
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
"""From here on a probe's answer counts as recognition; below it is the best guess."""

FITS_AS_RESPONSE = 20
"""The same of a response whose operation the user names: its own bytes can't say much."""


class PastedMessage(NamedTuple):
    """One message, with what is needed to decode it."""

    data: bytes
    header: MessageHeader
    context: Context


class Recognition(NamedTuple):
    """The dissector that the bytes suggest, a score from 0 to 100, and whether that is enough."""

    dissector: Dissector
    confidence: int
    fits: bool


def recognise_among(data: bytes, dissectors: Iterable[Dissector], is_response: bool = False) -> Recognition:
    """Returns the dissector that is surest of these bytes; the first one of equals."""
    return _confirm_recognition(_find_surest(data, dissectors, is_response), data)


def _find_surest(data: bytes, dissectors: Iterable[Dissector], is_response: bool) -> Recognition:
    prefix, from_client = data[:PREFIX], False if is_response else None
    probed = ((each, each.probe(prefix, from_client)) for each in dissectors)
    surest, sure = max(probed, key=lambda found: found[1])
    return Recognition(surest, sure, sure >= (FITS_AS_RESPONSE if is_response else FITS))


def recognise_any(data: bytes, is_response: bool = False) -> Recognition:
    """Recognises bytes among all dissectors; imports only those that can be surer than the first."""
    first, *others = registry.names()
    found = _find_surest(data, (registry.by_name(first),), is_response)
    if found.confidence >= registry.CERTAIN:
        others = [name for name in others if registry.may_be_surer(name, data[:PREFIX])]
    found = _find_surest(data, map(registry.by_name, (first, *others)), is_response) if others else found
    return _confirm_recognition(found, data)


def _confirm_recognition(found: Recognition, data: bytes) -> Recognition:
    return found if found.fits else found._replace(fits=_is_announced_response(found.dissector, data))


class MessageBytes(NamedTuple):
    """A message's bytes, and whether they are all there."""

    data: bytes
    whole: bool


class PastedBytes:
    """A Window on pasted bytes from `begin`; no more bytes will come."""

    __slots__ = ("begin", "data")

    def __init__(self, data: bytes, begin: int) -> None:
        self.data, self.begin = data, begin

    def __len__(self) -> int:
        return len(self.data) - self.begin

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset`, fewer at the end."""
        return self.data[self.begin + offset : self.begin + offset + length]


def cut_messages(data: bytes, dissector: Dissector, from_client: bool | None = None) -> Iterator[MessageBytes]:
    """Cuts messages that follow each other; bytes after an impossible length stay in one piece."""
    at, framer = 0, dissector.make_framer(from_client is not False, True)
    while at < len(data):
        length = None if framer is None else framer.length(PastedBytes(data, at), True)
        if length is None:
            framer, length = None, _read_prefixed_length(data, at, dissector.framing)
        end = at + length if length > 0 else len(data)
        yield MessageBytes(data[at:end], 0 < length <= len(data) - at)
        at = end


def _read_prefixed_length(data: bytes, at: int, framing: LengthPrefixed | None) -> int:
    """The length of the message at `at` with its prefix; 0 if none can be there."""
    if framing is None or len(data) - at < framing.width:
        return 0
    length = int.from_bytes(data[at : at + framing.width])
    return framing.width + length if framing.minimum <= length <= framing.maximum else 0


def decode_by_looks(
    dissector: Dissector, messages: Iterator[MessageBytes], from_client: bool | None
) -> Iterator[PastedMessage]:
    """Makes each message a request or a response, by its bytes or as the user says."""
    for message in messages:
        client = from_client
        if client is None:
            client = _looks_like_request(dissector, message)
        yield _make_pasted(message, dissector.header(message.data[: dissector.prefix], client))


def _looks_like_request(dissector: Dissector, message: MessageBytes) -> bool:
    """Which of both it rather is; what breaks as a request, and can be read as an answer to the end, is an answer."""
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
    """Whether one layout alone is likely for an answer to nobody knows what, and reads it to the end."""
    tree = defects.decode_tree(dissector, data, context)
    guessed = any(finding.code == "guessed-layout" for finding in tree.findings)
    return guessed and all(node.spec.type != "undecoded" for node in tree.fields)


def _is_announced_response(dissector: Dissector, data: bytes) -> bool:
    """Whether what begins these bytes has little that says whose it is, and is an answer all the same."""
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
    """Requests and their responses: a message that answers an earlier one is its response, any other is a request.

    One that cannot be a request, or stands alone, is a response to nobody knows what.
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
