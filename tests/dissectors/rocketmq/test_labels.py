"""What people read beside the numbers of headers."""

from __future__ import annotations

import pytest

from dissectors.rocketmq.labels import BY_NAME, format_delay


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("sysFlag", 0, None),
        ("sysFlag", 1 | 3 << 8 | 1 << 2, "compressed, zlib, prepared"),
        ("sysFlag", 1 | 7 << 8, "compressed, codec 7"),
        ("sysFlag", 12, "rolled back"),
        ("pullSysFlag", 7, "commits offset, may wait, with subscription"),
        ("perm", 6, "read, write"),
        ("perm", 0, None),
        ("topicSysFlag", 3, "unit, subscribed in units"),
        ("bodyCrc32", -1, "0xffffffff"),
        ("delayLevel", 3, "10 s"),
        ("delayLevel", 99, "2 h"),
        ("delayLevel", 0, "by number of retries"),
        ("delayLevel", -1, "to the dead letters"),
        ("commitOrRollback", 12, "rollback"),
        ("commitOrRollback", 5, None),
        ("initMode", 1, "from the last"),
        ("requestSource", -1, "SDK"),
        ("forbiddenType", 3, "no broadcasting"),
        ("queueId", -1, "any"),
        ("queueId", 3, None),
        ("reviveQid", 999, "in order"),
        ("brokerId", 0, "master"),
        ("brokerId", 1, None),
        ("suggestWhichBrokerId", 0, "master"),
        ("subVersion", 1_700_000_000_000, "2023-11-14T22:13:20.000Z"),
        ("subVersion", 1_795_271_072_447_198_078, None),
        ("suspendTimeoutMillis", 15_000, "0:00:15"),
        ("bornTimestamp", "no number", None),
        ("commitOrRollback", True, None),
    ],
)
def test_labels(name: str, value: object, text: str | None) -> None:
    label = BY_NAME[name]
    assert label(value) == text


def test_there_is_no_delay_of_level_0() -> None:
    assert (format_delay(0), format_delay(-1), format_delay(1), format_delay(18)) == (None, None, "1 s", "2 h")
