"""The byte-spectral kernels that Windows launches, against the float64 reference.

Taps are packed and numbers compared on the Linux side, by the package's own code and its torch.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from session import CHECKOUT, Windows

ENCODER = CHECKOUT / "encoder"
PROGRAM = ENCODER / "tests" / "windows" / "launch_kernels.py"


@dataclass(frozen=True)
class Case:
    """One transform. `limbs`: fp16 summands of a tap, 0 for fp32; `allowed`: relative error."""

    batch: int
    length: int
    W: int
    K: int
    parts: str
    limbs: int = 2
    lengths: tuple[int, ...] = ()
    allowed: float = 1e-5


CASES = (
    Case(2, 1000, 64, 256, "mag"),
    Case(1, 777, 32, 64, "reim"),
    Case(3, 130, 64, 128, "power"),
    Case(3, 257, 64, 64, "logmag", lengths=(257, 100, 1)),
    Case(2, 500, 48, 100, "mag", limbs=0),
    Case(2, 1000, 64, 256, "mag", limbs=1, allowed=1e-3),
    Case(8, 8192, 64, 256, "mag"),
)
# small tiles: every case then has whole ones and one that is not
TILE = {"bm": 64, "be": 32, "bk": 64, "warps": 4, "stages": 1}


def check(windows: Windows, scratch: Path) -> dict[str, Any]:
    """Launch all cases in one Windows process; relative errors by case."""
    folder = scratch / "encoder"
    folder.mkdir()
    expected = _prepare(folder)
    paths = ";".join(windows.win(path) for path in (ENCODER / "src", CHECKOUT / "src"))
    program = (windows.win(PROGRAM), windows.win(folder))
    done = windows.python(*program, env={"PYTHONPATH": paths}, timeout=180)
    if done.returncode:
        return {"error": f"ended with {done.returncode:#x}: {done.stderr[-2000:]}"}
    rows = {name: _judge(folder, name, case, want) for name, (case, want) in expected.items()}
    for name, row in rows.items():
        print(f"  {name:<36}error {row['error']:.2e}, allowed {row['allowed']:.0e}")
    return {"ok": all(row["right"] for row in rows.values()), "cases": rows}


def _prepare(folder: Path) -> dict[str, tuple[Case, Any]]:
    """Write what the launches need, by the package's own form; the exact results by name."""
    sys.path.insert(0, str(ENCODER / "src"))
    import torch
    from byte_spectral import launch, pack
    from byte_spectral.definition import reference
    from byte_spectral.spec import make_spec
    from byte_spectral.taps import dft_taps

    torch.manual_seed(20)
    described, expected = [], {}
    for case in CASES:
        name = f"{case.parts}-{case.batch}x{case.length}-W{case.W}-K{case.K}-limbs{case.limbs}"
        spec = make_spec(case.W, case.K, None, case.parts, causal=True)
        x = torch.randint(0, 256, (case.batch, case.length), dtype=torch.uint8)
        lengths = torch.tensor(case.lengths, dtype=torch.int32) if case.lengths else None
        plan = {**TILE, "limbs": case.limbs, "bk": TILE["bk"] if case.limbs else 16}
        form = launch.Dot(spec, torch.float32, torch.device("cpu"), plan)
        made = form.launch(x, lengths, 0)
        taps = pack.arrange(dft_taps(spec), case.limbs, form.rows, form.bins, form.shift)
        described.append({
            "name": name, "size": case.batch * case.length * spec.features, "grid": list(made.grid),
            "taps": "fp16" if case.limbs else "fp32", "lengths": bool(case.lengths),
            "numbers": list(made.numbers[:-1]), "warps": plan["warps"],
            "record": dataclasses.asdict(made.numbers[-1]),
        })  # fmt: skip
        for kind, tensor in (("bytes", x), ("taps", taps), ("lengths", lengths)):
            if tensor is not None:
                data = bytes(tensor.contiguous().view(-1).view(torch.uint8))
                (folder / f"{name}.{kind}").write_bytes(data)
        exact = reference(x, W=case.W, K=case.K, parts=case.parts, lengths=lengths)
        expected[name] = (case, exact)
    (folder / "cases.json").write_text(json.dumps(described), "utf-8")
    return expected


def _judge(folder: Path, name: str, case: Case, exact: Any) -> dict[str, Any]:
    import torch

    data = bytearray((folder / f"{name}.out").read_bytes())
    found = torch.frombuffer(data, dtype=torch.float32).reshape(exact.shape).double()
    error = float((found - exact).abs().max() / exact.abs().max())
    return {"error": error, "allowed": case.allowed, "right": error <= case.allowed}
