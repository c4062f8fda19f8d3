"""`tritonwin bench` inside Windows: the programs run; a stand-in driver computes nothing."""

from __future__ import annotations

import json

from winlane import Machine


def test_a_launch_is_timed(machine: Machine) -> None:
    machine.gpu(cc="8.9")
    made = machine.environment("3.12", "full", ["triton-3.8"])
    done = machine.tool(
        "bench", "--python", made.python, "--only", "bench-launch", "--json", timeout=300
    )
    benchmark = json.loads(done.stdout)
    assert done.returncode == 0
    assert "(8.9)" in benchmark["machine"]["GPU"]
    assert benchmark["machine"]["Triton"].startswith("triton-windows 3.8.0.post29")
    (part,) = benchmark["parts"]
    assert part["state"] == "passed", part
    assert 0 < part["figures"]["launch_us"] < 10_000
    assert part["figures"]["helper_module_s"] > 0
