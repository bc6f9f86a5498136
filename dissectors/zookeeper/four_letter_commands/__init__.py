"""Four-letter words: the text that a client may send instead of opening a session, and the answer to it.

Facts (administrator's guide, "The Four Letter Words"). A word has no framing; the server answers with text and closes.
`stmk` is followed by eight bytes. A word that is typed into telnet or nc comes with a line break. telnet's way to hang
up (IAC IP, IAC WILL TM, here as four bytes) is treated as a word too. A frame cannot be mistaken for a word: its first
byte would mean a length of hundreds of megabytes. answers.py reads the texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dissectors.api import HEADLESS, Body, Framer, MessageHeader, Role, State, Window
from dissectors.field import FieldSpec, Tree
from dissectors.wire.fields import read_members
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.parts import add_parts
from dissectors.wire.plan import leaves
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Wrapping
from dissectors.zookeeper.schemas import LONG
from dissectors.zookeeper.tables import table

WORD = 4
TELNET_CLOSE = "telnetClose"
_ENDINGS = (b"", b"\n", b"\r\n", b"\r")
_LONGEST = max(map(len, _ENDINGS))
_TRACE_MASK = leaves({"traceMask": LONG})
_TEXT = FieldSpec("text", "string")
_WORD = Wrapping("word", "string")
_LINE_BREAK = Wrapping("lineBreak", "bytes")


@cache
def words() -> Mapping[bytes, str]:
    """Returns the four bytes of each word, and its name."""
    rows = table("operations")
    known = {name.encode(): name for name in rows["fourLetterWords"]}
    return {**known, bytes.fromhex(rows["telnetClose"]): TELNET_CLOSE}


def word_of(prefix: bytes) -> str | None:
    """Returns the word that a client's first bytes are."""
    return words().get(prefix[:WORD])


def size_of(word: str) -> int:
    """Returns the number of bytes of a word, with its mask and line break."""
    size: int = table("operations")["fourLetterLonger"].get(word, WORD)
    return size


def is_text(prefix: bytes) -> bool:
    """Returns whether a server's first bytes answer a word: no frame is so long."""
    return prefix[:1] > b"\x04"


def is_alone(prefix: bytes) -> bool:
    """Returns whether the bytes are a four-letter word and at most a line end."""
    word = word_of(prefix)
    return word is not None and (prefix[WORD:] in _ENDINGS or WORD < len(prefix) == size_of(word))


def request(prefix: bytes) -> MessageHeader | None:
    """Returns the header of a four-letter word; None if it is none."""
    word = word_of(prefix)
    return None if word is None else MessageHeader(Role.REQUEST, word)


def answer(prefix: bytes, word: str | None) -> MessageHeader:
    """Returns the header of the text that answers a word."""
    if not prefix:
        return HEADLESS
    return MessageHeader(Role.RESPONSE, word, state=State.GUESSED if word is None else State.COMPLETE)


class ClientOpening(Framer):
    """Frames what a client sends first: a four-letter command and all that follows, or frames."""

    def __init__(self) -> None:
        self._worded = False

    def length(self, message: Window, ended: bool) -> int | None:
        """Returns the length of a word: four bytes or twelve, and a line break that came with it.

        The end of the stream ends the rest.

        Nobody waits for a line break: the server answers and closes as soon as it has the word.
        """
        if self._worded:
            return len(message) if ended else -1
        prefix = message.read_bytes(0, WORD)
        word = word_of(prefix)
        if word is None:
            return None if len(prefix) == WORD or ended else -WORD
        size = size_of(word)
        if len(message) < size:
            return -size
        self._worded = True
        rest = message.read_bytes(size, size + _LONGEST + 1)
        return size + len(rest) if rest in _ENDINGS else size

    def measure_across_loss(self, message: Window, lost: range, ended: bool) -> int:
        """Returns the length of a word's message if the stream has ended, -1 before; 0 if it is no word."""
        if not self._worded:
            return 0
        return len(message) if ended else -1


class ServerOpening(Framer):
    """Frames what a server sends first: a text up to the end of the stream, or frames."""

    def length(self, message: Window, ended: bool) -> int | None:
        """Decides by the first byte whether this is a text or a frame."""
        prefix = message.read_bytes(0, 1)
        if prefix and not is_text(prefix):
            return None
        return len(message) if ended else -1

    def measure_across_loss(self, message: Window, lost: range, ended: bool) -> int:
        """Returns the length of an answer if the stream has ended, -1 before: lost bytes belong to it."""
        return len(message) if ended else -1


def decode_values(message: bytes) -> Body:
    """Returns the values of a word or of its answer."""
    return fold_tree(decode_tree(message))


def decode_tree(message: bytes) -> Tree:
    """Decodes a word with its mask and line break, or the text of an answer, to a tree."""
    return read_unframed(message, _read_command)


def _read_command(reader: Reader) -> None:
    word = word_of(reader.data)
    if word is None or reader.data[size_of(word) :] not in _ENDINGS:
        _text(reader)
        return
    reader.leaf(_WORD, word, WORD)
    if size_of(word) > WORD:
        read_members(reader, _TRACE_MASK)
    if reader.at < reader.end:
        reader.leaf(_LINE_BREAK, reader.data[reader.at :], reader.end)


def _text(reader: Reader) -> None:
    from dissectors.zookeeper.four_letter_commands.answers import answer_parts  # words are few, and their answers fewer

    try:
        text: str | bytes = reader.data.decode()
    except UnicodeDecodeError:
        reader.leaf(_TEXT, reader.data, reader.end)
        return
    node = reader.leaf(_TEXT, text, reader.end)
    add_parts(reader.tree, node, (0,), answer_parts(reader.data), 0, 0)
