"""Checks of bytes, lengths and taps. Errors name the argument; nothing is wrapped silently."""

from __future__ import annotations

from collections.abc import Sequence

import torch

_INTEGERS = (torch.int64, torch.int32, torch.int16)


def bytes_of(x: torch.Tensor) -> torch.Tensor:
    """x as uint8 (B, T) with bytes of a row side by side."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(
            f"x must be a tensor of bytes, not {type(x).__name__}; see byte_spectral.as_bytes"
        )
    if x.dim() != 2:
        raise ValueError(f"x must be (B, T), rows of bytes; this has the shape {tuple(x.shape)}")
    if x.dtype != torch.uint8:
        x = _narrowed(x)
    return x if x.shape[1] <= 1 or x.stride(1) == 1 else x.contiguous()


def _narrowed(x: torch.Tensor) -> torch.Tensor:
    if x.dtype not in _INTEGERS:
        raise TypeError(f"x must be uint8, not {x.dtype}")
    if x.device.type != "cpu":
        raise TypeError(
            f"x must be uint8 on {x.device}, not {x.dtype}: looking for values outside 0..255 "
            "would stop the GPU. Use x.to(torch.uint8) where all are inside."
        )
    if x.numel() and (int(x.min()) < 0 or int(x.max()) > 255):
        raise ValueError(f"x holds values outside 0..255: {int(x.min())}..{int(x.max())}")
    return x.to(torch.uint8)


def lengths_of(lengths: torch.Tensor | None, x: torch.Tensor) -> torch.Tensor | None:
    """lengths as int32 (B,) on the device of x."""
    if lengths is None:
        return None
    if not isinstance(lengths, torch.Tensor) or lengths.dtype not in _INTEGERS:
        raise TypeError("lengths must be an integer tensor of shape (B,)")
    if lengths.shape != x.shape[:1]:
        raise ValueError(
            f"lengths must be ({x.shape[0]},), one for each row; it is {tuple(lengths.shape)}"
        )
    if lengths.dtype == torch.int64:  # 32 bits do not hold every number that means a whole row
        lengths = lengths.clamp(0, x.shape[1])
    return lengths.to(device=x.device, dtype=torch.int32).contiguous()


def taps_shape(taps: torch.Tensor) -> tuple[int, int]:
    """W and K of taps (W, 2K)."""
    if not isinstance(taps, torch.Tensor) or not taps.is_floating_point():
        raise TypeError("taps must be a real tensor of shape (W, 2K)")
    if taps.dim() != 2 or taps.shape[1] % 2 or not taps.shape[1]:
        raise ValueError(f"taps must be (W, 2K), [Re | Im] columns; this is {tuple(taps.shape)}")
    return taps.shape[0], taps.shape[1] // 2


def bins_of(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    embedding: torch.Tensor | None,
    parts: str,
) -> int:
    """K of a linear layer's weight (D, E); it, its bias (D,) and the embedding are where x is."""
    for name, tensor in (("weight", weight), ("bias", bias), ("embedding", embedding)):
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} must be a tensor, not {type(tensor).__name__}")
        if tensor is not None and tensor.device != x.device:
            raise ValueError(f"{name} must be on {x.device}, where x is, not on {tensor.device}")
    if weight.dim() != 2 or (parts == "reim" and weight.shape[1] % 2):
        raise ValueError(f"weight must be (D, E), E even for reim; this is {tuple(weight.shape)}")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(
            f"bias must be ({weight.shape[0]},), as weight has rows; it is {tuple(bias.shape)}"
        )
    if embedding is not None and embedding.shape != (256, weight.shape[0]):
        raise ValueError(
            f"embedding must be (256, {weight.shape[0]}), a row for each byte; "
            f"it is {tuple(embedding.shape)}"
        )
    return weight.shape[1] // (2 if parts == "reim" else 1)


def as_bytes(
    data: bytes | bytearray | memoryview | Sequence[bytes],
    device: torch.device | str | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One string of bytes, or several, as x (B, T) uint8 and lengths (B,), short ones padded.

    On torch's default device unless one is named.
    """
    given = [data] if isinstance(data, (bytes, bytearray, memoryview)) else list(data)
    if not all(isinstance(row, (bytes, bytearray, memoryview)) for row in given):
        raise TypeError(
            "as_bytes takes bytes, or a sequence of bytes; encode text first: text.encode()"
        )
    rows = [bytes(row) for row in given]  # a memoryview may count in other units
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int32, device="cpu")
    x = torch.zeros((len(rows), max(map(len, rows), default=0)), dtype=torch.uint8, device="cpu")
    for row, values in zip(x, rows, strict=True):
        if len(values):
            row[: len(values)] = torch.frombuffer(bytearray(values), dtype=torch.uint8)
    place = torch.get_default_device() if device is None else device
    return x.to(place), lengths.to(place)
