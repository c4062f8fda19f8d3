"""ARCH... [KIND...]: the kernels of byte_spectral with the plans of each architecture, to cubins.

Prints one JSON object a kernel. Needs Triton alone, neither torch nor a GPU; runs on Windows and
Linux.
"""

import json
import re
import sys
import time

import triton
from triton.backends.compiler import GPUTarget

from byte_spectral import kernels, plans, records

TYPES = {
    "x": "*u8", "out": "*fp32", "weight": "*fp16", "bias": "*fp16", "upstream": "*fp32",
    "partial": "*fp32", "table": "*fp32", "ramp": "*fp32",
    "lengths": "*i32", "scale": "fp32", "found": "*fp32", "packed": "*fp16",
}  # fmt: skip
WINDOW, BINS, SHIFT = 64, 256, 11


def describe(*box):
    from triton.experimental.gluon import language as gl

    layout = gl.NVMMASharedLayout.get_default_for(list(box), gl.float16)
    return f"tensordesc<fp16[{', '.join(map(str, box))}],{layout!r}>"


def compiled(function, arch, warps, constants, **types):
    """With every pointer and integer a multiple of 16, as the usual shapes have them."""
    names = function.arg_names
    signature = {
        n: "constexpr" if n in constants else types.get(n) or TYPES.get(n, "i32") for n in names
    }
    even = [n for n in names if signature[n][0] in "*i"]
    source = triton.compiler.ASTSource
    if function.is_gluon() if hasattr(function, "is_gluon") else False:
        from triton.experimental.gluon._runtime import GluonASTSource as source
    made = source(
        function, signature, {(names.index(n),): v for n, v in constants.items()},
        {(names.index(n),): [["tt.divisibility", 16]] for n in even},
    )  # fmt: skip
    return triton.compile(made, target=GPUTarget("cuda", arch, 32), options={"num_warps": warps})


def dense(p, limbs, **more):
    names = ("bm", "be", "warps", "stages", "cache")
    given = {name: p[name] for name in names if name in p}
    given |= {"bk": min(WINDOW, p.get("bk", WINDOW)), "early": bool(p.get("pdl"))}
    given |= {"W": WINDOW, "K": BINS, "parts": "mag", "rows": WINDOW, "even": True} | more
    return {"S": records.Dense(shift=0, bins=BINS, limbs=limbs, scale=SHIFT, **given)}


def taps(limbs):
    return "*fp16" if limbs else "*fp32"


def dot(arch):
    p = plans.sure("dot", arch)
    limbs = p.get("limbs", 2)
    constants = dense(p, limbs, even_rows=True)
    return compiled(kernels.encode, arch, p["warps"], constants, taps=taps(limbs))


def record(p, W):
    steps = p["steps"]
    return records.Walk(
        W=W, K=BINS, parts="mag", shift=0, tail=True, sign=0, steps=steps, rows=p["chunks"],
        bins=p["be"], lane=p.get("lane", p["be"] // 32), padded=BINS, turns=p["turns"], limbs=p["limbs"],
        byte_limbs=p["byte_limbs"], scale=13, gain=0.02, lengths=False, even=False,
        early=p.get("pdl", 0),
    )  # fmt: skip


def walking(arch):
    from byte_spectral import walk

    p = plans.sure("walk", arch)
    return compiled(walk.walk, arch, p["warps"], {"S": record(p, 1027)}, taps="*fp16",
                    turn="*fp32")  # fmt: skip


def linear(arch):
    p = plans.sure("linear", arch)
    limbs = p.get("limbs", 1)
    constants = dense(p, limbs, width=BINS, bd=p["bd"], bias=True)
    return compiled(kernels.project, arch, p["warps"], constants, taps=taps(limbs), out="*fp16")


def hopper(arch):
    from byte_spectral import hopper

    p = plans.sure("hopper", arch)
    constants = dense(p, 2, regular=True, chunks=BINS // p["be"] // p["split"], split=p["split"])
    return compiled(
        hopper.encode, arch, p["warps"], constants, taps=describe(2 * WINDOW, 2 * p["be"])
    )


def hopper_gradient(arch):
    from byte_spectral import hopper_gradient

    p = plans.sure("hopper_gradient", arch)
    constants = dense(p, 2, regular=True, even_rows=True, chunks=1)
    return compiled(hopper_gradient.gradient, arch, p["warps"], constants,
                    taps=describe(2 * WINDOW, 2 * p["be"]))  # fmt: skip


def hopper_linear(arch):
    from byte_spectral import hopper_linear

    p = plans.sure("hopper_linear", arch)
    be = p["be"]
    constants = dense(p, 1, chunks=BINS // be, width=256, bd=256, bias=True, regular=True,
                      ordered=True)  # fmt: skip
    return compiled(hopper_linear.project, arch, p["warps"], constants, out="*fp16",
                    taps=describe(WINDOW, 2 * be), weight=describe(8, 4, 4, 2, be))  # fmt: skip


def barriers(ptx):
    """The most barriers of a loop of products, which hold up all warps of a program."""
    lines, labels, most = ptx.splitlines(), {}, 0
    for i, line in enumerate(lines):
        if label := re.match(r"(\$L__BB\w+):", line):
            labels[label[1]] = i
        elif (jump := re.search(r"\bbra\S*\s+(\$L__BB\w+);", line)) and jump[1] in labels:
            loop = "\n".join(lines[labels[jump[1]] : i])
            if "wgmma.mma_async" in loop:
                most = max(most, loop.count("bar.sync"))
    return most


PRODUCTS = ("mma.sync", "wgmma.mma_async", "tcgen05.mma")  # of tensor cores
PORTABLE = {"dot": dot, "linear": linear}
SM_90 = {"hopper": hopper, "hopper_gradient": hopper_gradient, "hopper_linear": hopper_linear}


def main():
    archs = [int(word) for word in sys.argv[1:] if word.isdigit()]
    kinds = [word for word in sys.argv[1:] if not word.isdigit()]
    for arch in archs:
        available = PORTABLE | (SM_90 if arch == 90 else {})
        if arch >= 80:
            available |= {"walk": walking}
        for kind in kinds or available:
            if kind not in available:
                continue
            start = time.monotonic()
            made = available[kind](arch)
            products = sum(map(made.asm["ptx"].count, PRODUCTS))
            said = {"arch": arch, "kind": kind, "shared": made.metadata.shared,
                    "elf": made.asm["cubin"][:4] == b"\x7fELF", "products": products,
                    "barriers": barriers(made.asm["ptx"]),
                    "seconds": round(time.monotonic() - start, 1)}  # fmt: skip
            print(json.dumps(said), flush=True)


main()
