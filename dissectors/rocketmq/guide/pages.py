"""Which pages there are: requests, header classes, response codes, layouts and lists."""

from __future__ import annotations

from functools import cache, partial

from dissectors.rocketmq.codes import wrapped_codes
from dissectors.rocketmq.guide.layouts import parts_page
from dissectors.rocketmq.guide.numbers import (
    codes_by_name,
    languages_page,
    properties_page,
    response_page,
    responses_page,
    topics_page,
    versions_page,
)
from dissectors.rocketmq.guide.requests import class_page, page_names, request_page
from dissectors.rocketmq.tables import table
from dissectors.wire.guide.shelf import Pages, Shelf


@cache
def _pages() -> Pages:
    names = page_names()
    return {
        **{name: partial(parts_page, name) for name in table("guide")["pages"]},
        "responses": responses_page,
        "languages": languages_page,
        "versions": versions_page,
        "properties": properties_page,
        "topics": topics_page,
        **{name: partial(request_page, code) for code, name in names.items()},
        **{old: partial(request_page, int(code)) for code, old in table("guide")["former"].items()},
        **{name: partial(response_page, name) for name in codes_by_name()},
        **{name: partial(class_page, name) for name in table("headers")["headers"]},
    }


def _numbers() -> dict[int, str]:
    """Request codes as JSON has them, and what is left of them in a binary header."""
    names = page_names()
    return names | {binary: names[code] for binary, code in wrapped_codes().items()}


def _spelt(name: str) -> str:
    """Names are found in any case, and with a hyphen for an underscore."""
    return name.lower().replace("-", "_")


GUIDE = Shelf("RocketMQ", _pages, _numbers, _spelt)
