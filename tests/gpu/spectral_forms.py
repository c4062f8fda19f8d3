"""The kernel forms of tritonwin.spectral as plain launches, for spectral_sweep.py."""

from __future__ import annotations

import math
import statistics

import torch
import triton
import triton.language as tl

from tritonwin.spectral import backward, kernels, pack, reference, sliding
from tritonwin.spectral.spec import make_spec
from tritonwin.spectral.taps import dft_taps, window_tensor

DEVICE = "cuda"
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
SMS = torch.cuda.get_device_properties(0).multi_processor_count if torch.cuda.is_available() else 1


@triton.jit
def store_only(out, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = (at & 0xFF).to(tl.float32) + PROGRAMS
    tl.store(out + at, value.to(out.dtype.element_ty))


class Form:
    """A launch of one form: `run(x, out)`; tolerance of its error; what it computes in float64."""

    parts = "mag"
    window = "tail"
    bound = 1e-6

    def __init__(self, shape, **o):
        self.B, self.T, self.K, self.W = shape
        self.o = o
        self.dtype = TYPES[o.get("out", "fp32")]
        self.parts = o.get("parts", "mag")
        self.window = o.get("window", "tail")
        self.spec = make_spec(self.W, self.K, None, self.parts, True)
        if o.get("limbs", 2) == 1:
            self.bound = 2.5e-4
        if self.dtype == torch.bfloat16:
            self.bound = 4e-3

    @property
    def M(self):
        return self.B * self.T

    def output(self):
        return torch.empty(self.B, self.T, self.spec.features, device=DEVICE, dtype=self.dtype)

    def expected(self, x):
        return reference(x, W=self.W, K=self.K, parts=self.parts, window=self.window)


class Store(Form):
    bound = math.inf

    def run(self, x, out):
        n = out.numel()
        block = self.o["block"]
        extra = {"launch_pdl": True} if self.o.get("pdl") else {}
        store_only[(n // block,)](out, n, block, 0, num_warps=self.o["warps"], **extra)

    def expected(self, x):
        return None


class Dot(Form):
    def __init__(self, shape, **o):
        super().__init__(shape, **o)
        self.WP = pack.power_of_two(self.W)
        self.BK = o.get("bk", min(self.WP, 64))
        self.KP = -(-self.K // o["be"]) * o["be"]
        self.shift = pack.shift_of(self.W)
        taps = dft_taps(self.spec, self.window)
        self.taps = pack.portable(taps, o["limbs"], self.WP, self.KP, self.shift).to(DEVICE)

    def run(self, x, out):
        o, M = self.o, x.shape[0] * x.shape[1]
        even = M % o["bm"] == 0 and self.K % o["be"] == 0
        kernels.encode[(triton.cdiv(M, o["bm"]), 1)](
            x, self.taps, out, x, M, x.shape[1], x.shape[1], x.stride(0), 1, self.spec.shift,
            self.spec.shift, self.K, self.spec.features, self.W, self.WP, self.KP, self.shift,
            o["limbs"], self.parts, False, even, o["bm"], o["be"], self.BK, o["stages"],
            num_warps=o["warps"],
        )  # fmt: skip


class Hopper(Form):
    def __init__(self, shape, **o):
        super().__init__(shape, **o)
        from triton.experimental.gluon import language as gl
        from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

        self.WP = pack.power_of_two(self.W)
        self.shift = pack.shift_of(self.W)
        pairs = 16 // self.dtype.itemsize // 2
        packed = pack.hopper(dft_taps(self.spec), o["limbs"], self.WP, o["be"], self.shift, pairs)
        self.taps = packed.to(DEVICE)
        box = [min(256, 2 * o["limbs"] * self.WP), o["be"]]
        layout = gl.NVMMASharedLayout.get_default_for(box, gl.float16)
        self.desc = TensorDescriptor.from_tensor(self.taps, box, layout)
        self.chunks = -(-self.K // o["be"])

    def run(self, x, out):
        from tritonwin.spectral import hopper

        o, M = self.o, x.shape[0] * x.shape[1]
        tiles = triton.cdiv(M, o["bm"])
        programs = o["split"] * max(1, min(tiles, SMS * o["per_sm"] // o["split"]))
        extra = {"launch_pdl": True} if o.get("pdl") else {}
        hopper.encode[(programs,)](
            x, self.desc, out, x, M, x.shape[1], x.stride(0), 0, self.spec.shift, self.K,
            self.spec.features, self.W, self.WP, self.shift, o["limbs"], self.parts, False,
            M % o["bm"] == 0, self.K % o["be"] == 0, o["bm"], o["be"], self.chunks // o["split"],
            o["split"], o["ahead"], o.get("inside", True), o.get("cache", ""),
            bool(o.get("pdl")), num_warps=o["warps"], **extra,
        )  # fmt: skip


class Project(Form):
    bound = 6e-3

    def __init__(self, shape, **o):
        super().__init__(shape, **{"out": "bf16", **o})
        self.bound = 6e-3
        from triton.experimental.gluon import language as gl
        from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

        torch.manual_seed(1)
        self.weight = (torch.randn(256, self.K, device=DEVICE) / 16).to(torch.bfloat16)
        self.bias = torch.randn(256, device=DEVICE)
        self.WP = pack.power_of_two(self.W)
        self.shift = pack.shift_of(self.W)
        self.taps = pack.hopper(dft_taps(self.spec), o["limbs"], self.WP, o["be"], self.shift, 1)
        self.taps = self.taps.to(DEVICE)
        box = [min(256, 2 * o["limbs"] * self.WP), o["be"]]
        layout = gl.NVMMASharedLayout.get_default_for(box, gl.float16)
        self.desc = TensorDescriptor.from_tensor(self.taps, box, layout)
        box = [o["bd"], o["be"]]
        layout = gl.NVMMASharedLayout.get_default_for(box, gl.bfloat16)
        self.matrix = TensorDescriptor.from_tensor(self.weight, box, layout)
        self.chunks = -(-self.K // o["be"])

    def output(self):
        return torch.empty(self.B, self.T, 256, device=DEVICE, dtype=torch.bfloat16)

    def run(self, x, out):
        from tritonwin.spectral import hopper_linear

        o, M = self.o, x.shape[0] * x.shape[1]
        tiles = triton.cdiv(M, o["bm"])
        programs = o["split"] * max(1, min(tiles, SMS // o["split"]))
        extra = {"launch_pdl": True} if o.get("pdl") else {}
        hopper_linear.project[(programs,)](
            x, self.desc, self.matrix, self.bias, out, x, M, x.shape[1], x.stride(0), 0,
            self.spec.shift, 256, self.W, self.WP, self.shift, o["limbs"], self.parts, False,
            bool(o.get("bias")), M % o["bm"] == 0, True, o["bm"], o["be"], o["bd"], self.chunks,
            o["split"], True, "", bool(o.get("pdl")), num_warps=o["warps"], **extra,
        )  # fmt: skip

    def expected(self, x):
        features = reference(x, W=self.W, K=self.K, parts=self.parts)
        out = features @ self.weight.double().T
        return out + self.bias.double() if self.o.get("bias") else out


class ProjectPortable(Project):
    def __init__(self, shape, **o):
        Form.__init__(self, shape, out="bf16", **o)
        self.bound = 6e-3
        torch.manual_seed(1)
        self.weight = (torch.randn(256, self.K, device=DEVICE) / 16).to(torch.bfloat16)
        self.WP = pack.power_of_two(self.W)
        self.shift = pack.shift_of(self.W)
        self.taps = pack.portable(dft_taps(self.spec), o["limbs"], self.WP, self.K, self.shift)
        self.taps = self.taps.to(DEVICE)

    def run(self, x, out):
        o, M = self.o, x.shape[0] * x.shape[1]
        kernels.project[(triton.cdiv(M, o["bm"]), 256 // o["bd"])](
            x, self.taps, self.weight, x, out, x, M, x.shape[1], x.shape[1], x.stride(0), 1, 0, 0,
            self.K, 256, self.weight.stride(0), self.W, self.WP, self.K, self.shift, o["limbs"],
            self.parts, False, False, o["bm"], o["be"], min(64, self.WP), o["bd"], o["stages"],
            num_warps=o["warps"],
        )  # fmt: skip


class Lookup(Form):
    bound = math.inf

    def __init__(self, shape, **o):
        super().__init__(shape, out="bf16", **o)
        self.table = torch.randn(256, 256, device=DEVICE, dtype=torch.bfloat16)

    def run(self, x, out):
        torch.index_select(self.table, 0, x.view(-1).int(), out=out.view(-1, 256))

    def expected(self, x):
        return None


class Unfused(Project):
    def __init__(self, shape, **o):
        Form.__init__(self, shape, out="bf16", **o)
        self.bound = 8e-3
        torch.manual_seed(1)
        self.weight = (torch.randn(256, self.K, device=DEVICE) / 16).to(torch.bfloat16)
        self.first = Hopper(shape, limbs=1, out="bf16", bm=128, be=64, warps=8, split=1, per_sm=2,
                            ahead=False)  # fmt: skip
        self.features = self.first.output()

    def run(self, x, out):
        features = self.features if x.shape == (self.B, self.T) else out.new_empty(*x.shape, self.K)
        self.first.run(x, features)
        torch.mm(features.view(-1, self.K), self.weight.T, out=out.view(-1, 256))


class State(Form):
    """The state of the sliding form alone: the strided dot."""

    bound = math.inf

    def __init__(self, shape, **o):
        super().__init__(shape, **o)
        self.steps = o.get("steps", 64)
        state, table, ramp, self.scale = pack.sliding(
            self.spec, self.window, self.steps, o.get("turns", 8)
        )
        self.G = state.shape[1] // 2
        self.WP = pack.power_of_two(self.W)
        self.shift = pack.shift_of(self.W)
        self.table, self.ramp = table.to(DEVICE), ramp.to(DEVICE)
        self.bin_pad = -(-self.G // o["be"]) * o["be"]
        self.taps = pack.portable(state, 2, self.WP, self.bin_pad, self.shift).to(DEVICE)

    def state_of(self, x, state):
        o = self.o
        chunks = triton.cdiv(x.shape[1], self.steps)
        M = x.shape[0] * chunks
        kernels.encode[(triton.cdiv(M, o["bm"]), self.bin_pad // o["be"])](
            x, self.taps, state, x, M, chunks, x.shape[1], x.stride(0), self.steps, -1, self.W,
            self.G, 2 * self.G, self.W, self.WP, self.bin_pad, self.shift, 2, "reim", False,
            M % o["bm"] == 0 and self.G % o["be"] == 0, o["bm"], o["be"], min(64, self.WP),
            o["stages"], num_warps=o["warps"],
        )  # fmt: skip

    def output(self):
        return torch.empty(self.B * triton.cdiv(self.T, self.steps), 2 * self.G, device=DEVICE)

    def run(self, x, out):
        self.state_of(x, out)

    def expected(self, x):
        return None


class Slide(State):
    bound = 1e-6
    expected = Form.expected

    def __init__(self, shape, **o):
        self.plan = o
        super().__init__(shape, **{**o, "bm": 64, "be": 32, "warps": 4, "stages": 3})

    def output(self):
        return Form.output(self)

    def run(self, x, out):
        p = self.plan
        chunks = triton.cdiv(x.shape[1], self.steps)
        state = torch.empty(x.shape[0] * chunks, 2 * self.G, device=DEVICE)
        self.state_of(x, state)
        sliding.slide[(x.shape[0] * chunks, triton.cdiv(self.K, p["be"]))](
            x, state, self.table, self.ramp, out, x, x.shape[1], x.shape[1], x.stride(0), 0, 0,
            chunks, self.K, self.spec.features, self.scale, self.W, self.parts,
            self.window == "tail", False, 2 * self.W % self.spec.N == 0, self.steps, p["be"],
            p["turns"], num_warps=p["warps"],
        )  # fmt: skip


class Gradient(Form):
    bound = 2e-3

    def __init__(self, shape, **o):
        super().__init__(shape, **o)
        self.bound = 2e-3 if o["limbs"] == 1 else 5e-5
        self.WP = pack.power_of_two(self.W)
        self.shift = pack.shift_of(self.W)
        self.matrix = dft_taps(self.spec)
        self.taps = pack.portable(self.matrix, o["limbs"], self.WP, self.K, self.shift).to(DEVICE)
        self.streams = {}

    def upstream(self, x):
        if x.shape not in self.streams:
            torch.manual_seed(2)
            self.streams[x.shape] = torch.randn(*x.shape, self.spec.features, device=DEVICE)
        return self.streams[x.shape]

    def output(self):
        return torch.empty(self.W, 2 * self.K, device=DEVICE)

    def run(self, x, out):
        o, M = self.o, x.shape[0] * x.shape[1]
        partial = torch.empty(o["splits"], 2, self.WP, self.K, device=DEVICE)
        backward.gradient[(o["splits"], self.K // o["be"], 1)](
            x, self.taps, self.upstream(x), partial, x, M, x.shape[1], x.shape[1], x.stride(0), 1,
            0, 0, self.K, self.spec.features, self.W, self.WP, self.K, self.shift, o["limbs"],
            self.parts, False, o["bm"], o["be"], self.WP, o["splits"], True,
            num_warps=o["warps"],
        )  # fmt: skip
        total = partial.sum(0) * (2.0**self.shift / 255)
        out.copy_(total.flip(1).permute(1, 0, 2).reshape(self.WP, -1)[: self.W])

    def expected(self, x):
        from tritonwin.spectral.reference import finish, frames

        taps = self.matrix.to(DEVICE).requires_grad_()
        out = finish(frames(x, self.spec, None) @ taps, self.spec, x, None)
        (out * self.upstream(x).double()).sum().backward()
        return taps.grad


class Stft(Form):
    bound = math.inf

    def __init__(self, shape, **o):
        super().__init__(shape, **o)
        self.w = (window_tensor("tail", self.W).flip(0)).float().to(DEVICE)

    def run(self, x, out):
        s = torch.nn.functional.pad(x.float() / 127.5 - 1, (2 * self.K - 1, 0))
        w = torch.nn.functional.pad(self.w, (2 * self.K - self.W, 0))
        found = torch.stft(s, 2 * self.K, 1, 2 * self.K, w, center=False, return_complex=True)
        torch.abs(found[:, : self.K].transpose(1, 2), out=out)

    def expected(self, x):
        return None


FORMS = {
    "store": Store, "dot": Dot, "hopper": Hopper, "project": Project, "lookup": Lookup,
    "project_tl": ProjectPortable, "unfused": Unfused, "slide": Slide, "state": State,
    "gradient": Gradient, "stft": Stft,
}  # fmt: skip


def wrong(form, x):
    """Relative error against float64 of a launch on a poisoned output, or the reason it is wrong."""
    keep = form.B, form.T
    form.B, form.T = x.shape
    out = form.output()
    form.B, form.T = keep
    out.fill_(float("nan"))
    form.run(x, out)
    torch.cuda.synchronize()
    if not bool(torch.isfinite(out).all()):
        bad = int((~torch.isfinite(out)).sum())
        return math.inf, f"{bad} of {out.numel()} elements not written or not finite"
    expected = form.expected(x)
    if expected is None:
        return 0.0, ""
    error = ((out.double() - expected).norm() / expected.norm()).item()
    return error, "" if error <= form.bound else f"error {error:.2e} over {form.bound:.1e}"


def check(name, shape, options):
    form = FORMS[name](shape, **options)
    if name in ("store", "lookup", "stft", "state"):
        x = torch.randint(0, 256, (shape[0], shape[1]), device=DEVICE, dtype=torch.uint8)
        error, why = wrong(form, x)
        return {"ok": not why, "why": why}
    worst, reason = 0.0, ""
    for B, T in ((2, 1024), (3, 1001), (shape[0] // 8 or 1, shape[1])):
        x = torch.randint(0, 256, (B, T), device=DEVICE, dtype=torch.uint8)
        error, why = wrong(form, x)
        worst = max(worst, error)
        reason = reason or (why and f"(B, T) = ({B}, {T}): {why}")
    return {"ok": not reason, "why": reason, "err": worst}


def measure(name, shape, options):
    """Median time of a launch in a CUDA graph whose launches rotate over more than the L2 holds."""
    form = FORMS[name](shape, **options)
    torch.manual_seed(3)
    sample = form.output()
    count = max(4, min(32, (600 << 20) // max(1, sample.numel() * sample.element_size())))
    outs = [sample, *(form.output() for _ in range(count - 1))]
    xs = [
        torch.randint(0, 256, (shape[0], shape[1]), device=DEVICE, dtype=torch.uint8) for _ in outs
    ]
    result = {}
    error, why = wrong(form, xs[0])
    if why:
        return {"error": why}
    result["err"] = error
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        form.run(xs[0], outs[0])
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        launches = max(count, 24)
        with torch.cuda.graph(graph, stream=stream):
            for i in range(launches):
                form.run(xs[i % count], outs[i % count])
    times = []
    for _ in range(9):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / launches)
    return result | {
        "us": statistics.median(times[2:]),
        "least": min(times),
        "most": max(times[2:]),
    }
