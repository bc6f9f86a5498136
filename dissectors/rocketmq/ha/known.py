"""What bytes are that may be an HA connection's, though nobody said so.

Theory. Reports of a slave may be anything; on the HA port they are taken for what they seem to be. What a master sends
may be certain: a message of the log that stands where it says that it stands is no accident, nor are transfers in a
row of which each begins where the one before it ended.
"""

from __future__ import annotations

from typing import NamedTuple

from dissectors.rocketmq.ha.chain import FrameLink, iterate_links
from dissectors.rocketmq.ha.forms import HAProtocol, recognise_protocol
from dissectors.rocketmq.ha.framer import LOOK
from dissectors.rocketmq.ha.log import CONTINUED, iterate_spans


class RecognisedRun(NamedTuple):
    """Bytes of one direction: which protocol they would be, and whether nothing else can look so."""

    kind: HAProtocol
    certain: bool


_FRAMES = 16
"""Frames that are looked at; so many offsets in order are no accident."""

_CHAINED = 3


def recognise_run(data: bytes, from_slave: bool) -> RecognisedRun | None:
    """What bytes are, if frames of one protocol fill them or come one behind the other; None: they are none.

    Certain is a master's whole message where it says it stands, or a few frames of which each goes on where it should.
    """
    kind = recognise_protocol(data[:LOOK], from_slave, ended=True)
    if kind is None:
        return None
    count, stop, proof = 0, 0, 0
    for link in iterate_links(data, from_slave, kind):
        if count == _FRAMES:
            break
        if not link.follows:
            return None
        count, stop = count + 1, link.at + link.frame.size
        proof += _weigh_link(data, link)
    if not count or (stop < len(data) and count < _FRAMES):
        return None
    return RecognisedRun(kind, not from_slave and proof >= _CHAINED)


def _weigh_link(data: bytes, link: FrameLink) -> int:
    """How much a frame proves: offsets in a row a little, a message at its own place all that is needed."""
    found, begin = link.frame, link.at + link.frame.form.size
    if not found.is_transfer or not found.data:
        return int(found.is_transfer and found.offset > 0 and link.at > 0)
    end = min(begin + found.data, len(data))
    whole = any(span.messages for span in iterate_spans(data, begin, end, found.offset) if span.spec is not CONTINUED)
    return _CHAINED if whole else int(link.at > 0)
