"""Request codes, header classes and names of numbers, held against the facts that lie beside the checkout."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from dissectors.rocketmq.codes import (
    decode_binary_code,
    find_header_class,
    find_language,
    find_response_name,
    find_version_name,
    operations,
)
from dissectors.rocketmq.tables import table
from tests.dissectors.rocketmq.truth import ROOT

FACTS = ROOT.parent / "shared" / "facts" / "rocketmq_codes.json"
KINDS = {
    None: None, "msgbody": "payload", "message": "messages", "messages": "messages", "batch": "batch", "json": "json",
    "props": "text", "text": "text", "bin": "checkpoint",
}  # fmt: skip
"""What the facts say of a body, up to its colon, and what our tables call it."""

TYPES = {"str": "string", "int": "int", "long": "long", "bool": "bool", "BoundaryType": "string"}
LATER = {"DeleteSubscriptionGroupRequestHeader": {"removeOffset"}}
"""Fields that the facts lack: 3.2 to 4.9 call cleanOffset so."""

LATER_CODES: frozenset[int] = frozenset()
"""Request codes that the facts lack."""

UNUSED = {
    "CheckTransactionStateResponseHeader", "EndTransactionResponseHeader", "InitConsumerOffsetRequestHeader",
    "RegisterOrderTopicRequestHeader", "StatisticsMessagesRequestHeader",
}  # fmt: skip
"""Classes that no operation has."""


@cache
def facts() -> dict[str, Any]:
    if not FACTS.exists():
        pytest.skip(f"{FACTS.parent.name}/{FACTS.name} is not beside this checkout")
    found: dict[str, Any] = json.loads(FACTS.read_text())
    return found


def kind(body: str | None) -> str | None:
    if body is not None and "|zlib:" in body:
        return "registration"
    return KINDS[body if body is None else body.partition(":")[0]]


def test_request_codes() -> None:
    rows = facts()["requestCodes"] + facts()["post53"]["requestCodes"]
    assert len(rows) == 171
    for code, name, request, response, requested, answered, *asker in rows:
        found = operations()[code]
        assert (found.name, found.request, found.response) == (name, request, response)
        assert (found.request_body, found.response_body) == (kind(requested), kind(answered)), name
        assert found.from_server == any(asker), name


def test_codes_of_old_releases_and_of_dledger() -> None:
    """105 is here as its later name."""
    for code, name in facts()["removedRequestCodes"]:
        assert operations()[code].name == name or code == 105
    for code, (request, response) in (
        (int(code), row) for code, row in facts()["removedHeaders"].items() if isinstance(row, list)
    ):
        assert (operations()[code].request, operations()[code].response) == (request, response)
    for code, name in facts()["dledgerController"]["codes"]:
        assert (operations()[code].name, operations()[code].success) == (name, 200)
    for code, binary in facts()["binaryCodeWrap"].items():
        assert decode_binary_code(binary) == int(code)
        assert int(code) & 0xFFFF == binary
    known = {row[0] for key in ("requestCodes", "removedRequestCodes") for row in facts()[key]}
    known |= {row[0] for row in (*facts()["post53"]["requestCodes"], *facts()["dledgerController"]["codes"])}
    assert set(operations()) == known | LATER_CODES


def test_header_classes() -> None:
    own = table("headers")["headers"]
    for name, row in {**facts()["headers"], **facts()["post53"]["headers"]}.items():
        if name in UNUSED:
            continue
        fields = {field: TYPES[kind] for field, kind, *_ in row["f"]}
        more = {*facts()["post53"]["extraFields"].get(name, ()), *LATER.get(name, ())}
        assert own[name].get("extends") == row.get("x"), name
        assert {field: own[name]["fields"][field] for field in fields} == fields, name
        assert set(own[name]["fields"]) - set(fields) == more, name


def test_the_letters_of_v2() -> None:
    found = find_header_class(310, False)
    assert found is not None
    assert {name: found[name].name for name in facts()["sendV2Alias"]} == facts()["sendV2Alias"]


def test_response_codes() -> None:
    """Of the old ones, three of 5.0.0 alone meant something else under the numbers 2010 to 2012."""
    for code, name in {**facts()["responseCodes"], **facts()["post53"]["responseCodes"]}.items():
        assert find_response_name(int(code)) == name
    old = {code: name for code, name in facts()["oldResponseCodes"] if not 2010 <= code <= 2012}
    assert {code: find_response_name(code, 401) for code in old} == old


def test_languages_and_versions() -> None:
    assert {number: find_language(int(number)) for number in facts()["languageCodes"]} == facts()["languageCodes"]
    names = facts()["mqVersion"]["names"]
    assert [find_version_name(number) for number in range(len(names))] == names


def test_the_properties_that_messages_have() -> None:
    known = {name for name in facts()["properties"].values() if name.strip() and not name.startswith("__RMQ.")}
    assert known - set(table("meanings")["properties"]) == set()
