"""Templates of RocketMQ's frames: the parts that may differ between alike frames (wire.frame_template).

Theory. The names in a header, and their order, belong to the template, as do code, flag, language and version. The
opaque number and the values of extFields may differ, also in length: in a JSON header they end at a quote, in a binary
one they have sizes. If the header class makes a number of such a text, it stays one. A message's properties are a text
of several, whose names belong to the template. Bodies of applications may be any bytes; JSON has a template of its own;
stored messages are one value within the frame; the bytes of all other bodies belong to the template.

Only the length of a secret is symbolic. Frames with findings, or with numbers in another spelling, match no template.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dissectors.api import Body, Context
from dissectors.rocketmq.message import HEADER, KEYS, decode_values, read_frame
from dissectors.rocketmq.secrets import SECRETS
from dissectors.rocketmq.stored import NAME_VALUE
from dissectors.wire.frame import Frame
from dissectors.wire.frame_template import FrameNames, SymbolicFrame, build_template
from dissectors.wire.varint import Unfit

LARGE = 4096
"""Most bytes of a body that belongs to the template."""

_OFTEN = frozenset((34, 38, 322))
"""HEART_BEAT, GET_CONSUMER_LIST_BY_GROUP, QUERY_DATA_VERSION: what is asked every few seconds.

Other JSON bodies are rare, or repeat unchanged; they belong to the template.
"""


def _read_symbolic(frame: SymbolicFrame, context: Context) -> Body:
    def decode_rest(_: Frame, at: int, kind: str | None, context: Context) -> dict[str, Any]:
        if kind == "json" and context.code in _OFTEN and (body := frame.json_rest(at)) is not None:
            return {"body": body}
        if frame.end - at > LARGE:
            raise Unfit
        found = decode_values(frame.data[frame.begin : frame.end], context)
        if found.findings:
            raise Unfit
        return {name: value for name, value in found.values.items() if name not in (*KEYS, HEADER.name)}

    return read_frame(frame, context, decode_rest)


make_template = partial(build_template, _read_symbolic, FrameNames(SECRETS, NAME_VALUE))
"""See Dissector.template."""
