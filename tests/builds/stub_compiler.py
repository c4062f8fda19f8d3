"""A stand-in for nvcc and c++ that makes small real objects in place of compiled kernels.

    stub_compiler.py nvcc|c++ SETTINGS ARGS...

It is no compiler: it reads where the object goes and for which GPUs, and has gcc make an object
with a symbol, an entry point where the source has one, and a `.nv_fatbin` section as nvcc writes
it. SETTINGS is a JSON file:

    journal   a file to which "start NAME" and "end NAME" are appended
    seconds   how long a compiler takes; half of the object is there after half of the time
    wait      source name -> a file that is there before its compiler ends
    fail      source name, or "#k" for the k-th that is begun -> how it fails (a key of FAILURES),
              and how often
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

VERSION = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:58:59_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0
"""
# What compilers print, from the facts sheet, and the exit status they leave with. "killed": the
# stand-in is really ended by SIGKILL, as the system does it.
FAILURES = {
    "cicc": ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)", 9),
    "ptxas": ("nvcc error   : 'ptxas' died due to signal 9 (Kill signal)", 9),
    "cc1plus": ("c++: fatal error: Killed signal terminated program cc1plus", 1),
    "killed": ("", None),
    "syntax": ('kernel.cu(12): error: identifier "flash" is undefined', 2),
}


def main(argv: list[str]) -> int:
    kind, settings_file, *args = argv
    if "-c" not in args:
        return pass_on(kind, args)
    settings = json.loads(Path(settings_file).read_text())
    source = Path(args[len(args) - args[::-1].index("-c")])  # torch names -c twice
    output = Path(args[args.index("-o") + 1])
    number = note(settings, f"start {source.name}")
    if failure := ask_for_failure(settings, (source.name, f"#{number}")):
        message, status = FAILURES[failure]
        if status is None:
            os.kill(os.getpid(), 9)
        print(message, file=sys.stderr)
        return int(status)
    content = object_file(source, args)
    half = len(content) // 2
    seconds = settings["seconds"]
    with output.open("wb") as stream:
        for part in (content[:half], content[half:]):
            stream.write(part)
            stream.flush()
            time.sleep(seconds / 2)
    wait_for(settings["wait"].get(source.name))
    write_dependencies(args, source, output)
    note(settings, f"end {source.name}")
    return 0


def wait_for(file: str | None) -> None:
    """Return once the file is there; after five minutes without it the build is to fail."""
    end = time.monotonic() + 300
    while file is not None and not os.path.exists(file):
        if time.monotonic() > end:
            sys.exit(f"{file} did not come")
        time.sleep(0.02)


def pass_on(kind: str, args: list[str]) -> int:
    """Links and questions go to the real compiler."""
    if kind == "nvcc":
        print(VERSION, end="")
        return 0
    return subprocess.call(["/usr/bin/g++", *args])


def note(settings: dict[str, str], line: str) -> int:
    """Write the line into the journal; how many of its kind are there now."""
    word = line.split()[0]
    with Path(settings["journal"]).open("a+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write(line + "\n")
        stream.flush()
        stream.seek(0)
        return sum(other.startswith(word) for other in stream)


def ask_for_failure(settings: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """The failure that is due, each time one less; a file holds the count."""
    name = next((n for n in names if n in settings["fail"]), None)
    if name is None:
        return None
    how, times = settings["fail"][name]
    counted = Path(settings["journal"]).with_name(f"failed-{name}")
    seen = int(counted.read_text()) if counted.exists() else 0
    counted.write_text(str(seen + 1))
    return str(how) if seen < times else None


def object_file(source: Path, args: list[str]) -> bytes:
    """A real object: a symbol named as the source, and its module's entry if it has one."""
    text = [f"int stub_{re.sub(r'[^0-9A-Za-z]', '_', source.name)}(void) {{ return 1; }}"]
    if name := next((a.split("=")[1] for a in args if a.startswith("-DTORCH_EXTENSION_NAME=")), ""):
        text += [ENTRY.replace("NAME", name)] if holds_entry(source) else []
    text += [fatbin_section(archs(args))] if source.suffix == ".cu" else []
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "stub.o")
        command = ["/usr/bin/gcc", "-x", "c", "-fPIC", "-c", "-o", str(made), "-"]
        subprocess.run(command, input="\n".join(text).encode(), check=True)
        return made.read_bytes()


# a module that can be imported, without Python's headers
ENTRY = """
typedef struct { long refs; void *type; void *init; long index; void *copy; } Base;
static struct { Base base; const char *name, *doc; long size; void *methods, *slots, *a, *b, *c; }
module = {{1}, "NAME", 0, -1};
extern void *PyModule_Create2(void *, int);
void *PyInit_NAME(void) { return PyModule_Create2(&module, 1013); }
"""


def holds_entry(source: Path) -> bool:
    return "PYBIND11_MODULE" in source.read_text("utf-8", "replace")


def archs(args: list[str]) -> list[int]:
    """Of `-gencode arch=compute_90,code=sm_90`, written in one word or in two."""
    return [int(n) for n in re.findall(r"code=sm_(\d+)", " ".join(args))]


def fatbin_section(numbers: list[int]) -> str:
    """A container with an empty cubin for each architecture, as nvcc lays it out."""
    entries = b"".join(
        struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, 0, 0, 0, 8, 1, n, 0, 0, 0x11, 0, 0)
        for n in numbers
    )
    content = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
    numbers_of = ",".join(map(str, content))
    return (
        '__attribute__((section(".nv_fatbin"), used, aligned(8))) '
        f"static const unsigned char stub[] = {{{numbers_of}}};"
    )


def write_dependencies(args: list[str], source: Path, output: Path) -> None:
    for option in ("-MF", "--dependency-output"):
        if option in args:
            Path(args[args.index(option) + 1]).write_text(f"{output}: {source}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
