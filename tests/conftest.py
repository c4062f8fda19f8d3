"""Settings for all tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# what a shell starts in the background ignores Ctrl-C, and so would all that is started here; tests
# send it to programs of their own
signal.signal(signal.SIGINT, signal.default_int_handler)

# a busy machine, or Wine, is no failure of the code; speed is measured in benchmarks/
_UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# the same examples each time, so that whoever changed nothing breaks nothing
settings.register_profile("tritonwin", derandomize=True, **_UNHURRIED)
# others each time: `python tools/dev.py test --full`
settings.register_profile("exploring", **_UNHURRIED)
settings.load_profile("tritonwin")
