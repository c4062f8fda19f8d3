"""In which order the fused layer works through its chunks: the kernel's own Python, with stand-ins for
what only a GPU does. Its numbers are tested in tests/gpu/test_encoder.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

from byte_spectral import hopper_linear

Spectrum = tuple[str, int]  # of which frame, which chunk
TILES = 3


class Recorder:
    """Spectra and products as they are started; a product is of a spectrum that was waited for."""

    def __init__(self) -> None:
        self.come: set[int] = set()  # chunks whose taps and weights have arrived
        self.running: list[Any] = []
        self.stored: list[tuple[int, list[int]]] = []

    def spectrum(self, frame: str, chunk: int, *_: object) -> Spectrum:
        assert chunk in self.come
        self.running.append((frame, chunk))
        return frame, chunk

    def multiply(self, both: Spectrum, chunk: int, acc: list[Spectrum], *_: object) -> list[Any]:
        assert both not in self.running
        assert both[1] == chunk
        self.running.append([*acc, both])
        return [*acc, both]

    def wait(self, count: int, deps: list[Any]) -> Any:
        del self.running[: max(0, len(self.running) - count)]
        (one,) = deps
        assert one not in self.running
        return one

    def emit(self, total: list[Spectrum], bias: object, table: object, x: object, out: object,
             tile: int, *_: object) -> None:  # fmt: skip
        frames = {frame for frame, _ in total}
        assert frames == {f"frame {tile}"}
        self.stored.append((tile, [chunk for _, chunk in total]))


@pytest.mark.parametrize("chunks", range(1, 12))  # up to 8 the first tile takes them as they come
def test_every_chunk_of_every_tile_is_multiplied_once(
    chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Recorder()
    same = SimpleNamespace(index=lambda i: i)
    for name, what in {
        "gl": SimpleNamespace(
            DotOperandLayout=lambda *_: None, zeros=lambda *_: [], float32=None, static_range=range
        ),
        "wide_layout": lambda _: None,
        "product_layout": lambda _: None,
        "all_come": lambda ready, count: seen.come.update(ready[i] for i in range(count)),
        "mbarrier": SimpleNamespace(wait=lambda chunk, _: seen.come.add(chunk)),
        "warpgroup_mma_init": lambda zeros: zeros,
        "warpgroup_mma_wait": seen.wait,
        "spectrum": seen.spectrum,
        "frame_of": lambda x, lengths, tile, *_: f"frame {tile}",
        "_multiply": seen.multiply,
        "_two": hopper_linear._two.fn,
        "_emit": seen.emit,
    }.items():
        monkeypatch.setattr(hopper_linear, name, what)
    names = hopper_linear._rows.arg_names
    given: dict[str, Any] = dict.fromkeys(names) | {
        "buffers": same, "weights": same, "ready": range(chunks), "M": TILES,
        "S": SimpleNamespace(chunks=chunks, bm=1, bd=64),
    }  # fmt: skip
    seen.come.add(0)
    frame = "frame 0"
    both = seen.spectrum(frame, 0)
    for tile in range(TILES):
        given |= {"both": both, "frame": frame, "tile": tile, "following": tile + 1}
        given["WAIT"] = tile == 0
        both, frame = hopper_linear._rows.fn(**given)
    assert seen.stored == [(tile, list(range(chunks))) for tile in range(TILES)]
