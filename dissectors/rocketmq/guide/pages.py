"""Which pages there are: requests, header classes, response codes, layouts and lists."""

from __future__ import annotations

from functools import cache, partial

from dissectors.rocketmq.codes import map_binary_codes
from dissectors.rocketmq.guide.layouts import make_parts_page
from dissectors.rocketmq.guide.numbers import (
    make_languages_page,
    make_properties_page,
    make_response_page,
    make_responses_page,
    make_topics_page,
    make_versions_page,
    map_response_codes,
)
from dissectors.rocketmq.guide.requests import make_class_page, make_request_page, map_page_names
from dissectors.rocketmq.tables import table
from dissectors.wire.guide.shelf import Pages, Shelf


@cache
def _make_pages() -> Pages:
    names = map_page_names()
    return {
        **{name: partial(make_parts_page, name) for name in table("guide")["pages"]},
        "responses": make_responses_page,
        "languages": make_languages_page,
        "versions": make_versions_page,
        "properties": make_properties_page,
        "topics": make_topics_page,
        **{name: partial(make_request_page, code) for code, name in names.items()},
        **{old: partial(make_request_page, int(code)) for code, old in table("guide")["former"].items()},
        **{name: partial(make_response_page, name) for name in map_response_codes()},
        **{name: partial(make_class_page, name) for name in table("headers")["headers"]},
    }


def _map_numbers() -> dict[int, str]:
    """Request codes as JSON has them, and what is left of them in a binary header."""
    names = map_page_names()
    return names | {binary: names[code] for binary, code in map_binary_codes().items()}


def _normalize_name(name: str) -> str:
    """Names are found in any case, and with a hyphen for an underscore."""
    return name.lower().replace("-", "_")


GUIDE = Shelf("RocketMQ", _make_pages, _map_numbers, _normalize_name)
