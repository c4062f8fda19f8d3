"""Plans without a network: lists of wheels that lie nowhere, and a pip that reports on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts import fake_host
from packaging.utils import parse_wheel_filename

from tritonwin.facts.records import Facts
from tritonwin.remedies.context import PlanContext
from tritonwin.support import matrix
from tritonwin.support.pip import Pip
from tritonwin.support.sources import Sources
from tritonwin.system.process import Completed

M = matrix.load()
TORCHES = [f"{p.torch}.1" for p in M.pairs]
TRITONS = [f"{r.series}.{n}.post{20 + n}" for r in M.releases for n in range(2)]
CUDAS = ("cu118", "cu121", "cu124", "cu126", "cu128", "cu129", "cu130", "cpu")
PYTHONS = ("cp310", "cp311", "cp312", "cp313", "cp314")


@dataclass(frozen=True)
class ReportingPip(Pip):
    """Reports as pip does that it would install exactly the wheels that it is asked for."""

    def run(self, args: Sequence[str], **options: Any) -> Completed:
        wheels = [text.partition(" @ ")[::2] for text in args[args.index("--") + 1 :]]
        install = [
            {
                "metadata": {"name": name, "version": _version(address)},
                "download_info": {"url": address.partition("#")[0], "archive_info": {}},
                "requested": True,
            }
            for name, address in wheels
        ]
        return Completed(0, json.dumps({"install": install}).encode(), b"")


def _version(address: str) -> str:
    return str(parse_wheel_filename(address.partition("#")[0].rpartition("/")[2])[1])


def means(facts: Facts, lists: Sequence[Path] = ()) -> PlanContext:
    sources = Sources(lists=tuple(map(str, lists)))
    return PlanContext(
        facts=facts,
        host=fake_host(Path("/nowhere")),
        pip=lambda: ReportingPip(("pip",)),
        sources=lambda: sources,
        offline=True,
    )


def wheel(name: str, version: str, tag: str) -> str:
    file = f"{name.replace('-', '_')}-{version}-{tag}.whl"
    digest = hashlib.sha256(file.encode()).hexdigest()
    return f"https://wheels.example/{file}#sha256={digest}"


def index(tmp_path: Path, wheels: Sequence[str]) -> list[Path]:
    file = tmp_path / "wheels.txt"
    file.write_text("\n".join(wheels))
    return [file]


def everything() -> list[str]:
    """Wheels of every torch and Triton, for every CUDA and some Pythons."""
    tags = [f"{p}-{p}-win_amd64" for p in PYTHONS] + ["cp312-cp312-linux_x86_64"]
    torches = [wheel("torch", f"{v}+{c}", t) for v in TORCHES for c in CUDAS for t in tags[1:4]]
    return torches + [wheel("triton-windows", v, t) for v in TRITONS for t in tags]
