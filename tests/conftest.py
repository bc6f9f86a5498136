"""What `make test` runs of what `make test-full` runs whole.

Of each property 24 seeded cases, in full 1,000 fresh ones (`--hypothesis-profile=exhaustive`: 20,000); of a table of
cases that is marked `sampled(n)` some n of them, always the same.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, settings

# Nobody's own configuration file: also not in the processes that tests start.
os.environ["WIREANALYZE_CONFIG"] = os.devnull
# Nor what the user interface remembers: no file can be below this one.
os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = os.devnull
# As often as the program itself has Textual paint (tui.FRAMES).
os.environ["TEXTUAL_FPS"] = "250"

# Who starts the tests in the background may ignore interrupts, and so would every program that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SLOW_HERE = (HealthCheck.too_slow,)

settings.register_profile("quick", max_examples=50, deadline=None, suppress_health_check=_SLOW_HERE)
settings.register_profile("test", max_examples=24, derandomize=True, deadline=None, suppress_health_check=_SLOW_HERE)
settings.register_profile("full", max_examples=1_000, deadline=None, suppress_health_check=_SLOW_HERE)
settings.register_profile("exhaustive", max_examples=20_000, deadline=None, suppress_health_check=_SLOW_HERE)
settings.load_profile("quick")


@pytest.fixture
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast path takes even one packet, and blocks do not grow: so that small captures test what large ones do."""
    monkeypatch.setattr("analyzer.messages.engine.WORTH_A_ROUND", 1)
    monkeypatch.setattr("analyzer.messages.engine.WORTH_A_RUN", 1)
    monkeypatch.setattr("analyzer.capture.records.LARGEST_BLOCK", 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Nothing of what is imported and collected is garbage: it is not searched for any, now or later."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All but the sample is slow."""
    tables: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if marker := item.get_closest_marker("sampled"):
            tables[item.nodeid.partition("[")[0], marker.args[0]].append(item)
    for (name, count), cases in tables.items():
        cases.sort(key=lambda case: case.nodeid)
        for case in Random(name).sample(cases, max(len(cases) - count, 0)):
            case.add_marker(pytest.mark.slow)
