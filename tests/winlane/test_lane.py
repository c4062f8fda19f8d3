"""The lane proves itself: what other tests stand on works, and a test leaves nothing behind."""

from __future__ import annotations

import pytest
from winlane import Lane, Machine, TimedOut

PROGRAM = """
import ctypes, sys
nvml = ctypes.WinDLL("nvml.dll")
assert nvml.nvmlInit_v2() == 0
text = ctypes.create_string_buffer(96)
count, device = ctypes.c_uint(), ctypes.c_void_p()
nvml.nvmlSystemGetDriverVersion(text, 96); print(text.value.decode())
nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)); print(count.value)
nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(device))
nvml.nvmlDeviceGetName(device, text, 96); print(text.value.decode())
"""


def test_fake_nvml_answers(machine: Machine) -> None:
    machine.gpu(cc="12.0", count=2, driver="576.02", name="NVIDIA GeForce RTX 5090")
    result = machine.environment("3.12", "bare").run("-c", PROGRAM).check()
    assert result.stdout.split("\n")[:3] == ["576.02", "2", "NVIDIA GeForce RTX 5090"]


def test_hanging_driver_is_killed(machine: Machine) -> None:
    machine.gpu(hang=True)
    python = machine.environment("3.12", "bare")
    with pytest.raises(TimedOut):
        python.run("-c", "import ctypes; ctypes.WinDLL('nvcuda.dll').cuInit(0)", timeout=3)


def test_registry_and_program_files_come_back(lane: Lane) -> None:
    key, file = r"HKLM\SOFTWARE\LaneTest\Inner", r"C:\Program Files\LaneTest\a.txt"
    with Machine(lane) as first:
        first.registry.set(key, "Value", "text")
        first.registry.set(
            r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion", "ProductName", "Lane"
        )
        first.place(file, b"x")
        assert first.registry.read(key) == {"Value": "text"}
        assert first.wine("cmd", "/c", "type", file).stdout == "x"
        windows = first.registry.read(r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion")
        assert windows
        assert windows["ProductName"] == "Lane"
    with Machine(lane) as second:
        assert second.registry.read(r"HKLM\SOFTWARE\LaneTest") is None
        windows = second.registry.read(r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion")
        assert windows
        assert windows["ProductName"] != "Lane"
        assert not second.drives.linux(file).parent.exists()
