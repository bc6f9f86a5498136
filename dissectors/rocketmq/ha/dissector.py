"""The HA protocol as the Dissector interface asks for it.

Theory. A slave opens a connection to its master's HA port (haListenPort: the broker's port + 1, so usually 10912),
sends the length of its log, and gets the rest (frames.py: two protocols, recognised by their first bytes). Frames are
short numbers without any mark, so no connection is recognised by its bytes, nor by its port. It is a raw run, which
rocketmq/raw.py describes, until a user asks for more with -d 10912=rocketmq-ha. So this dissector is rarely used, and
it imports its modules at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissectors.api import WEAK, Dissector, MessageHeader, lazy

if TYPE_CHECKING:
    from dissectors.rocketmq.ha.frames import HAFrame

_MODEST = WEAK - 5
"""Enough for who is told to look for it, too little for anybody else."""


class RocketMQHA(Dissector):
    """RocketMQ 3.2 to 5.5, the HA port (with -d 10912=rocketmq-ha): reports of slaves, blocks of log."""

    name = "rocketmq-ha"
    ports = ()
    framing = None
    conversation = lazy("dissectors.rocketmq.ha.body:HAConversation")
    make_framer = lazy("dissectors.rocketmq.ha.frames:HAFramer")
    values = lazy("dissectors.rocketmq.ha.body:decode_values")
    tree = lazy("dissectors.rocketmq.ha.body:decode_tree")
    info = lazy("dissectors.rocketmq.ha.body:format_info")
    catalog = lazy("dissectors.rocketmq.catalog:HA_CATALOG")
    payloads = lazy("dissectors.rocketmq.payloads:HA")
    prefix = 136  # two of the longest heads (frames.HEAD), and the beginning of a message

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Rates the first bytes; never high, because few bytes of a frame can be checked."""
        sides = (True, False) if from_client is None else (from_client,)
        return _MODEST if any(_can_be_chain(prefix, side) for side in sides) else 0

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Returns whether bytes look like a frame.

        Bytes inside a log do, too, so a frame with offset 0 counts only before the beginning of a log.
        """
        from dissectors.rocketmq.ha.frames import LOOK, HAFrame, read_head, recognise_protocol

        kind = recognise_protocol(prefix[:LOOK], from_client, ended=True)
        found = None if kind is None else read_head(prefix, from_client, kind, ended=True)
        if not isinstance(found, HAFrame):
            return False
        return found.offset > 0 or (found.data > 0 and _can_begin_log(prefix, found))

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Reads the operation of a frame."""
        from dissectors.rocketmq.ha.frames import HEADERS, find_frame

        seen = find_frame(prefix, from_client, None)
        return HEADERS[None if seen is None else (seen.frame.operation, from_client)]


def _can_begin_log(prefix: bytes, found: HAFrame) -> bool:
    from dissectors.rocketmq.ha.log import find_first_message  # for who hunts behind a gap

    begin, stop = found.form.size, min(len(prefix), found.size)
    return found.is_transfer and find_first_message(prefix, begin, stop, found.offset) < stop


def _can_be_chain(prefix: bytes, from_slave: bool) -> bool:
    """Whether frames follow one another, as far as the bytes go."""
    from dissectors.rocketmq.ha.frames import LOOK, iterate_links, recognise_protocol

    kind = recognise_protocol(prefix[:LOOK], from_slave, ended=True)
    first = None
    for first in iterate_links(prefix, from_slave, kind) if kind is not None else ():
        if not first.follows:
            return False
    return first is not None
