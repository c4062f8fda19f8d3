"""The second launch of a kernel is direct, and says what Triton's own would.

There is no GPU here: a kernel that only writes down how it was started stands for the compiled one.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytest.importorskip("triton.knobs", reason="no Triton with knobs here")

from byte_spectral import caller
from byte_spectral.caller import Launch


class KernelThatOnlyTakesNotes:
    packed_metadata = ("warps", 4)
    function = 77
    arg_names = ("x", "taps", "out", "M", "scale")

    def __init__(self) -> None:
        self.first: list[Any] = []
        self.direct: list[Any] = []

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        def start(*arguments: Any, **options: Any) -> KernelThatOnlyTakesNotes:
            self.first.append((grid, arguments, options))
            return self

        return start

    def run(self, *arguments: Any) -> None:
        self.direct.append(arguments)


@pytest.fixture
def device_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 0, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: 5, raising=False)


def test_a_second_launch_is_direct(device_0: None, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = KernelThatOnlyTakesNotes()
    call = caller.Caller(kernel, num_warps=4)
    x, out = torch.zeros(4), torch.zeros(4)
    launch = call.launch((3, 2, 1), scale=0.5, M=7)
    assert launch == Launch((3, 2, 1), ("x", "taps", "out"), (7, 0.5))
    operands = {"out": out, "taps": "descriptor", "x": x}
    for _ in range(2):
        call("key", launch, 0, **operands)
    assert kernel.first == [((3, 2, 1), (x, "descriptor", out, 7, 0.5), {"num_warps": 4})]
    pointers = (x.data_ptr(), "descriptor", out.data_ptr())
    assert kernel.direct == [(3, 2, 1, 5, 77, ("warps", 4), None, None, None, *pointers, 7, 0.5)]
    call("another shape", call.launch((3, 2, 1), scale=0.5, M=8), 0, **operands)
    assert len(kernel.first) == 2
    if hasattr(caller.knobs.runtime.launch_enter_hook, "add"):  # a profiler wants to see launches
        monkeypatch.setattr(caller.knobs.runtime.launch_enter_hook, "calls", [print])
        call("key", launch, 0, **operands)
        assert len(kernel.first) == 3


def test_without_a_device_every_launch_goes_through_triton() -> None:
    kernel = KernelThatOnlyTakesNotes()
    call = caller.Caller(kernel)
    for _ in range(2):
        call("key", Launch((1, 1, 1), ("x",), ()), None, x=torch.zeros(1))
    assert (len(kernel.first), kernel.direct) == (2, [])


@pytest.mark.parametrize("numbers", [{"M": 7, "other": 1}, {"M": 7, "scale": 0.5, "W": 3}])
def test_a_launch_names_the_arguments_of_its_kernel(numbers: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="do not share: "):
        caller.Caller(KernelThatOnlyTakesNotes()).launch((1, 1, 1), **numbers)
