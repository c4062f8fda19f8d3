"""A STAND-IN for torch, no torch: the five questions that Triton before 3.8 asks of it.

It answers them from CUDA's driver, for the first device and its default stream. No CUDA build of
torch runs under Wine, since its runtime needs cuGetExportTable. Results made with it say so.
"""

from types import SimpleNamespace

from torch import _C, cuda

__version__ = "0.0.0+standin"
version = SimpleNamespace(hip=None, cuda="0.0")

__all__ = ["_C", "cuda", "version"]
