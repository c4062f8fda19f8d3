"""The kernel forms of byte_spectral with any plan, for spectral_sweep.py."""

from __future__ import annotations

import math
import statistics

import torch
import triton
import triton.language as tl

from byte_spectral import launch, reference
from byte_spectral.definition import finish, frames
from byte_spectral.spec import make_spec
from byte_spectral.taps import dft_taps

DEVICE = torch.device("cuda", 0)
ROTATION = 3_000_000_000  # bytes written before a buffer is met again, at most
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@triton.jit
def store_only(out, BLOCK: tl.constexpr, CACHE: tl.constexpr):
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, (at & 0xFF).to(tl.float32).to(out.dtype.element_ty), cache_modifier=CACHE)


class Case:
    """A launch: `run(x)` gives the output; `expected(x)` in float64, or None; bound of the error."""

    bound = 1e-6

    def __init__(self, shape, **o):
        _, _, K, W = shape
        self.o, self.K, self.W = o, K, W
        self.dtype = TYPES[o.get("out", "fp32")]
        self.window = o.get("window", "tail")
        precision = "fast" if o.get("limbs") == 1 else "exact"
        self.spec = make_spec(W, K, None, o.get("parts", "mag"), True, precision)
        self.bound = 2.5e-4 if o.get("limbs") == 1 else 1e-6
        if self.dtype != torch.float32:
            self.bound = 4e-3
        self.make()

    def make(self):
        """What is prepared once."""

    def expected(self, x):
        return reference(x, W=self.W, K=self.K, parts=self.spec.parts, window=self.window)

    def taps(self):
        return dft_taps(self.spec, self.window).float().to(DEVICE)


class Store(Case):
    def run(self, x):
        out = torch.empty((*x.shape, self.K), dtype=self.dtype, device=DEVICE)
        extra = {"launch_pdl": True} if self.o.get("pdl") else {}
        grid = (out.numel() // self.o["block"],)
        store_only[grid](out, self.o["block"], self.o.get("cache", ""), num_warps=8, **extra)
        return out

    def expected(self, x):
        return None


class Dot(Case):
    def make(self):
        self.form = launch.Dot(self.spec, self.dtype, DEVICE, {"bk": 64, **self.o})
        self.packed = self.form.pack(self.taps())

    def run(self, x):
        return self.form(x, self.packed)


class Hopper(Case):
    def make(self):
        from byte_spectral.launch_hopper import Hopper as Form

        plan = {"shared": 227000, "per_sm": 1, **self.o}
        self.form = Form(self.spec, self.dtype, DEVICE, plan)
        self.packed = self.form.pack(self.taps())

    def run(self, x):
        return self.form(x, self.packed)


class Sliding(Case):
    def make(self):
        plan = {"limbs": 2, "state_be": 32, "state_warps": 4, **self.o}
        self.form = launch.Sliding(self.spec, self.dtype, DEVICE, plan, self.window)

    def run(self, x):
        return self.form(x)


class Walk(Sliding):
    """The sliding form of sm_90, in one launch."""

    def make(self):
        from byte_spectral.launch_hopper import HopperSliding as Form

        plan = {"chunks": 16, "limbs": 2, "byte_limbs": 2, **self.o}
        if self.dtype == torch.float32 and plan["byte_limbs"] == 1:
            self.bound = 2e-4
        self.form = Form(self.spec, self.dtype, DEVICE, plan, None)


class State(Sliding):
    """The first of the two launches of the sliding form alone."""

    def make(self):
        super().make()
        self.form.caller = lambda *a: None

    def expected(self, x):
        return None


class Linear(Case):
    def make(self):
        from byte_spectral.launch_hopper import HopperLinear as Form

        self.weights()
        plan = {"shared": 227000, **self.o}
        self.form = Form(self.spec, self.dtype, DEVICE, plan, 256)
        self.packed = self.form.pack(self.taps())

    def weights(self):
        self.bound = 6e-3
        torch.manual_seed(1)
        self.weight = (torch.randn(256, self.K, device=DEVICE) / 16).to(self.dtype)
        self.bias = torch.randn(256, device=DEVICE).to(self.dtype) if self.o.get("bias") else None

    def run(self, x):
        return self.form(x, self.packed, self.weight, self.bias, None)

    def expected(self, x):
        features = reference(x, W=self.W, K=self.K, parts=self.spec.parts)
        out = features @ self.weight.double().T
        return out if self.bias is None else out + self.bias.double()


class Unfused(Linear):
    def make(self):
        self.weights()
        self.bound = 8e-3
        o = {"limbs": 1, "out": "bf16", "bm": 256, "be": 64, "warps": 16, "split": 1, "pdl": True}
        self.first = Hopper((1, 1, self.K, self.W), **o, cache=".cs")

    def run(self, x):
        return torch.nn.functional.linear(self.first.run(x), self.weight)


class Lookup(Case):
    def make(self):
        self.table = torch.randn(256, 256, device=DEVICE, dtype=torch.bfloat16)

    def run(self, x):
        return torch.index_select(self.table, 0, x.view(-1).int()).view(*x.shape, -1)

    def expected(self, x):
        return None


class Embedding(Lookup):
    def run(self, x):
        return torch.nn.functional.embedding(x.int(), self.table)


class Gradient(Case):
    def make(self):
        self.bound = 2e-3 if self.o["limbs"] == 1 else 5e-5
        count = self.o["limbs"]
        plan = {"bk": 64, "be": 64, **{k: v for k, v in self.o.items() if k != "limbs"}}
        self.form = launch.Gradient(self.spec, DEVICE, plan, count)
        self.matrix = dft_taps(self.spec).to(DEVICE)
        self.float = self.matrix.float()
        self.streams = {}

    def upstream(self, x):
        key = (x.data_ptr(), x.shape)
        if key not in self.streams:
            torch.manual_seed(2)
            self.streams[key] = torch.randn(*x.shape, self.spec.features, device=DEVICE)
        return self.streams[key]

    def run(self, x):
        return self.form(x, self.float, self.upstream(x), None, 0)

    def expected(self, x):
        taps = self.matrix.clone().requires_grad_()
        out = finish(frames(x, self.spec, None) @ taps, self.spec, x, None)
        (out * self.upstream(x).double()).sum().backward()
        return taps.grad


class Turned(Gradient):
    """That of sm_90; `limbs` of the taps."""

    def make(self):
        from byte_spectral.launch_hopper import HopperGradient as Form

        super().make()
        plan = {"bk": 64, "be": 16 * self.o["warps"], "out_limbs": 2, "pdl": True, **self.o}
        self.form = Form(self.spec, DEVICE, plan, self.o["limbs"])


class Stft(Case):
    def make(self):
        w = torch.tensor([math.cos(math.pi * m / (2 * self.W)) ** 2 for m in range(self.W)])
        self.w = torch.nn.functional.pad(w.flip(0), (2 * self.K - self.W, 0)).to(DEVICE)

    def run(self, x):
        s = torch.nn.functional.pad(x.float() / 127.5 - 1, (2 * self.K - 1, 0))
        n = 2 * self.K
        found = torch.stft(s, n, 1, n, self.w, center=False, return_complex=True)
        return found[:, : self.K].transpose(1, 2).abs()

    def expected(self, x):
        return None


FORMS = {
    "store": Store, "dot": Dot, "hopper": Hopper, "sliding": Sliding, "state": State,
    "linear": Linear, "unfused": Unfused, "lookup": Lookup, "embedding": Embedding,
    "gradient": Gradient, "turned": Turned, "walk": Walk, "stft": Stft,
}  # fmt: skip


def random_bytes(B, T):
    return torch.randint(0, 256, (B, T), device=DEVICE, dtype=torch.uint8)


def wrong(case, x):
    """Relative error against float64 with what was free memory full of NaN, or why it is wrong."""
    like = case.run(x)
    size = [torch.full_like(like, float("nan")) for _ in range(3)]
    del like, size
    out = case.run(x)
    torch.cuda.synchronize()
    expected = case.expected(x)
    if expected is None:
        return 0.0, ""
    if not bool(torch.isfinite(out).all()):
        bad = int((~torch.isfinite(out)).sum())
        return math.inf, f"{bad} of {out.numel()} elements not written or not finite"
    error = ((out.double() - expected).norm() / expected.norm()).item()
    return error, "" if error <= case.bound else f"error {error:.2e} over {case.bound:.1e}"


def check(name, shape, options):
    case = FORMS[name](shape, **options)
    worst, reason = 0.0, ""
    sizes = (
        ((2, 1024), (3, 1001), (1, 77)) if case.expected.__qualname__ != "Store.expected" else ()
    )
    for B, T in sizes:
        error, why = wrong(case, random_bytes(B, T))
        worst = max(worst, error)
        reason = reason or (why and f"(B, T) = ({B}, {T}): {why}")
    case.run(random_bytes(*shape[:2]))
    torch.cuda.synchronize()
    return {"ok": not reason, "why": reason, "err": worst}


def measure(name, shape, options):
    """Median time of a launch in a CUDA graph whose launches write more than the L2 holds."""
    case = FORMS[name](shape, **options)
    torch.manual_seed(3)
    xs = [random_bytes(*shape[:2]) for _ in range(24)]
    result = {}
    if name not in ("sliding", "walk", "gradient", "turned") or shape[3] <= 1024:
        error, why = wrong(case, xs[0])
        if why:
            return {"error": why}
        result["err"] = error
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for x in xs:  # a gradient makes its upstream here
            kept_like = case.run(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        kept = []
        size = math.prod(kept_like.shape) * kept_like.element_size()
        rounds = max(1, min(4, ROTATION // (size * len(xs))))
        with torch.cuda.graph(graph, stream=stream):
            kept.extend(case.run(x) for _ in range(rounds) for x in xs)
    times = []
    for _ in range(9):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / len(kept))
    return result | {
        "us": statistics.median(times[2:]),
        "least": min(times),
        "most": max(times[2:]),
    }
