"""Why an answer is no success: the remark, without what surrounds its one sentence.

Facts. A remark is RemotingHelper's account of a Java exception (its class, its message, the place that threw it), a
sentence with a line behind it that links to the FAQ (FAQUrl), the name of a GetMessageStatus, or `not set any response
code`, which is what a header says that nobody has touched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dissectors.holes import plain
from dissectors.rocketmq.tables import table

_LONGEST = 120
_READ = 600
_CLASS = re.compile(r"(?:[a-z][\w$]*+\.)+([A-Z][\w$]*+)(?=$|[:,\s])")
_THROWN_AT = re.compile(r",\s*+[\w.$/<>]++\([^()]*+\)\s*+$")
_LINK = re.compile(r"\s*+(?:See|For more information)\b[^\n]*https?://.*", re.DOTALL)


def outcome(words: str, remark: Any) -> str:
    """What happened instead of what was asked for, and why, if the remark says more than that."""
    known = table("lines")["reasons"].get(plain(remark), "") if isinstance(remark, str) else ""
    return f"{words} ({known})" if known else words


def reason(remark: str, said: Sequence[str], *, failed: bool) -> list[str]:
    """What to add to a line of which `said` is there already."""
    lines = table("lines")
    words = plain(remark).strip()
    if words in lines["usual"] or (said and not failed):
        return []
    words = lines["reasons"].get(words, words)
    sentence = _sentence(words)
    return [sentence] if sentence else []


def _sentence(remark: str) -> str:
    line = _LINK.sub("", remark[:_READ]).partition("\n")[0]
    line = _CLASS.sub(r"\1", _THROWN_AT.sub("", line)).strip()
    return line if len(line) <= _LONGEST else line[:_LONGEST].rstrip() + "..."
