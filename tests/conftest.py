"""Hypothesis profiles: `make test` runs 250 seeded cases of each property, `make test-full` 20,000 fresh ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Nobody's own configuration file: also not in the processes that tests start.
os.environ["WIREANALYZE_CONFIG"] = os.devnull
# Nor what the user interface remembers: no file can be below this one.
os.environ["XDG_STATE_HOME"] = os.devnull
# As often as the program itself has Textual paint (tui.FRAMES).
os.environ["TEXTUAL_FPS"] = "250"

_SLOW_HERE = (HealthCheck.too_slow,)

settings.register_profile("quick", max_examples=100, deadline=None, suppress_health_check=_SLOW_HERE)
settings.register_profile("test", max_examples=250, derandomize=True, deadline=None, suppress_health_check=_SLOW_HERE)
settings.register_profile("full", max_examples=20_000, deadline=None, suppress_health_check=_SLOW_HERE)
settings.load_profile("quick")
