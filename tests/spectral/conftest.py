"""These tests need torch, and are left out where there is none.

`python tools/dev.py test` runs them in .venv-torch: pip install --group spectral.
"""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
