"""The byte-spectral encoder: a causal short-time DFT of raw bytes, one frame a byte.

    from byte_spectral import byte_spectral
    features = byte_spectral(x, W=64, K=256)      # (B, T) uint8 -> (B, T, 256) float32

torch and triton are those of the environment; they are imported on first use only.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from byte_spectral.definition import reference as reference
    from byte_spectral.encoder import ByteSpectral as ByteSpectral
    from byte_spectral.encoder import StreamState as StreamState
    from byte_spectral.functional import as_bytes as as_bytes
    from byte_spectral.functional import byte_spectral as byte_spectral
    from byte_spectral.functional import byte_spectral_linear as byte_spectral_linear
    from byte_spectral.functional import byte_spectral_taps as byte_spectral_taps


_PUBLIC = {
    "ByteSpectral": "encoder",
    "StreamState": "encoder",
    "as_bytes": "functional",
    "byte_spectral": "functional",
    "byte_spectral_linear": "functional",
    "byte_spectral_taps": "functional",
    "reference": "definition",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_PUBLIC[name]}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
