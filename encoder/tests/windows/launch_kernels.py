"""Inside Windows: the byte-spectral kernels on raw pointers; no torch.

    python launch_kernels.py FOLDER

Each case of FOLDER/cases.json names its files of bytes, taps and lengths there; NAME.out is written
as fp32.
"""

from __future__ import annotations

import array
import json
import sys
from pathlib import Path

import tritonwin.verify.rungs

from byte_spectral import kernels, records

sys.path.insert(0, str(Path(tritonwin.verify.rungs.__file__).parent))

from device import Buffer, Device


def main(folder: Path) -> None:
    device = Device()
    for case in json.loads((folder / "cases.json").read_text("utf-8")):
        name = case["name"]
        x = _upload(device, "u8", folder / f"{name}.bytes")
        taps = _upload(device, case["taps"], folder / f"{name}.taps")
        lengths = _upload(device, "i32", folder / f"{name}.lengths") if case["lengths"] else x
        out = device.empty("fp32", case["size"])
        kernels.encode[tuple(case["grid"])](
            x, taps, out, lengths, *case["numbers"], records.Dense(**case["record"]),
            num_warps=case["warps"],
        )  # fmt: skip
        (folder / f"{name}.out").write_bytes(out.read().tobytes())


def _upload(device: Device, dtype: str, path: Path) -> Buffer:
    codes = {"u8": "B", "i32": "i", "fp16": "H", "fp32": "f"}
    return device.upload_new(dtype, array.array(codes[dtype], path.read_bytes()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
