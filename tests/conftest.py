"""Settings for all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# what a shell starts in the background ignores Ctrl-C, and so would all that is started here; tests
# send it to programs of their own
signal.signal(signal.SIGINT, signal.default_int_handler)

# a busy machine, or Wine, is no failure of the code; speed is measured in benchmarks/
settings.register_profile("tritonwin", deadline=None)
settings.load_profile("tritonwin")
