"""The tables of errors: complete, in plain sentences, and with causes that name what there is."""

from __future__ import annotations

import pytest

from dissectors import registry
from dissectors.api import Dissector
from dissectors.finding import ADVICE, CODES, ERROR_EXPLAINING, Severity
from dissectors.kafka.labels import error_names
from dissectors.triage import UNKNOWN_ERROR, ErrorClass, Triage, read_triage

WEIGHED = [each for each in registry.dissectors() if each.triage is not None]


def load(dissector: Dissector) -> Triage:
    assert dissector.triage is not None
    return dissector.triage()


def test_all_protocols_with_errors_weigh_them() -> None:
    assert {"kafka", "zookeeper", "pulsar", "rocketmq"} <= {each.name for each in WEIGHED}


def test_each_error_of_kafka_has_a_meaning() -> None:
    errors = load(registry.by_name("kafka")).errors
    assert set(error_names()) - {"NONE"} == {name.rpartition(": ")[2] for name in errors}


def test_an_error_may_mean_something_else_as_the_answer_to_an_operation() -> None:
    kafka = load(registry.by_name("kafka"))
    assert kafka.weigh_error("UNSUPPORTED_VERSION", "ApiVersions").error_class is ErrorClass.NORMAL
    assert kafka.weigh_error("UNSUPPORTED_VERSION", "Fetch").error_class is ErrorClass.ATTENTION
    leaving, general = (kafka.weigh_error("UNKNOWN_MEMBER_ID", each) for each in ("LeaveGroup", None))
    assert kafka.explain_error("UNKNOWN_MEMBER_ID", ["LeaveGroup"]) is leaving
    assert kafka.explain_error("UNKNOWN_MEMBER_ID", ["LeaveGroup", "Heartbeat"]) is general
    assert kafka.explain_error("UNKNOWN_MEMBER_ID", []) is general


@pytest.mark.parametrize("dissector", WEIGHED, ids=lambda each: each.name)
def test_meanings_and_advice_are_sentences(dissector: Dissector) -> None:
    for name, (_, meaning, advice) in load(dissector).errors.items():
        assert all(each[:1].isupper() and each.endswith(".") for each in (meaning, advice)), name


@pytest.mark.parametrize("dissector", WEIGHED, ids=lambda each: each.name)
def test_causes_and_effects_exist(dissector: Dissector) -> None:
    triage = load(dissector)
    for cause in triage.causes:
        assert cause.code in CODES or cause.code in triage.errors
        assert cause.effects
        assert cause.effects <= CODES.keys() | triage.errors.keys()
        assert cause.code not in cause.effects
        assert cause.same in ("", "stream", "server", "client", "name", "subject")


def test_each_code_has_advice() -> None:
    assert ADVICE.keys() == CODES.keys()
    assert CODES.keys() >= ERROR_EXPLAINING
    assert all(text[:1].isupper() and text.endswith(".") for text in ADVICE.values())


def test_a_table_is_read() -> None:
    row = {"code": "gap", "effects": ["GONE"], "before": 1, "after": 0.5, "same": "stream"}
    triage = read_triage({"errors": {"GONE": ["refused", "It is gone.", "Look."]}, "causes": [row]})
    (cause,) = triage.causes
    assert (cause.before, cause.after, cause.same) == (1_000_000_000, 500_000_000, "stream")
    assert triage.weigh_error("GONE").error_class.severity is Severity.ERROR
    assert triage.weigh_error("NEW") is UNKNOWN_ERROR
    assert ErrorClass.NORMAL.severity is None
