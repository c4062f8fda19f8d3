"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# a busy machine, or Wine, is no failure of the code; speed is measured in benchmarks/
settings.register_profile("tritonwin", deadline=None)
settings.load_profile("tritonwin")
