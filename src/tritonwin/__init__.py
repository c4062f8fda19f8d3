"""Triton, torch.compile and FlashAttention on Windows: diagnose, repair, prove."""

__version__ = "0.1.0"
