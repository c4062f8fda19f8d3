"""Settings for all tests."""

from __future__ import annotations

import os
import re
import signal
import tempfile

from hypothesis import HealthCheck, settings

# what a shell starts in the background ignores Ctrl-C, under nohup the end of the terminal too, and so
# would all that is started here; tests send both to programs of their own
signal.signal(signal.SIGINT, signal.default_int_handler)
if os.name == "posix":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# the window that they are started from is none of theirs
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)
os.environ["TERM"] = "xterm"
# builds refuse folders with blanks, and Triton others; the tests that are about them make them
if os.name == "posix" and not re.fullmatch(r"[!-~]+", tempfile.gettempdir()):
    os.environ["TMPDIR"] = "/tmp"
    tempfile.tempdir = None

# a busy machine, or Wine, is no failure of the code; speed is measured in benchmarks/
_UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# the same examples each time, so that whoever changed nothing breaks nothing
settings.register_profile("tritonwin", derandomize=True, **_UNHURRIED)
# others each time: `python tools/dev.py test --full`
settings.register_profile("exploring", **_UNHURRIED)
settings.load_profile("tritonwin")
