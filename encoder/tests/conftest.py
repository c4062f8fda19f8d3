"""Settings for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# the same examples each time, so that an unchanged program does not fail
settings.register_profile("repeatable", derandomize=True, **_UNHURRIED)
# others each time: `python tools/dev.py test --full`
settings.register_profile("exploring", **_UNHURRIED)
settings.load_profile("repeatable")
