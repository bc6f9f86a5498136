"""Hypothesis profiles: `make test` runs 2,000 seeded cases of each property, `make test-full` 20,000 fresh ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Nobody's own configuration file: also not in the processes that tests start.
os.environ["WIREANALYZE_CONFIG"] = os.devnull

_SLOW_HERE = (HealthCheck.too_slow,)

settings.register_profile("quick", max_examples=100, deadline=None, suppress_health_check=_SLOW_HERE)
settings.register_profile("test", max_examples=2_000, derandomize=True, deadline=None, suppress_health_check=_SLOW_HERE)
settings.register_profile("full", max_examples=20_000, deadline=None, suppress_health_check=_SLOW_HERE)
settings.load_profile("quick")
