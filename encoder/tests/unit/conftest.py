"""Tests on the CPU: kernels run in Triton's interpreter. Without torch they are left out."""

from __future__ import annotations

import importlib.util
import os

import pytest

# kernels run on the CPU, in Triton's interpreter; Triton reads this once, when it is imported
os.environ["TRITON_INTERPRET"] = "1"

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    """The numbers that a test draws do not depend on the tests before it."""
    import torch

    torch.manual_seed(0)
