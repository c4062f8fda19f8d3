"""Attention of torch and of packages against float64, and which one applications get."""

from __future__ import annotations

import importlib
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from typing import TYPE_CHECKING, Any, Callable

import torch
from compare import Judge, attention, random, relative_error, seed, short

if TYPE_CHECKING:
    from torch import Tensor

    Attention = Callable[..., Tensor]


def compare(
    judge: Judge, name: str, function: Attention, *inputs: Tensor, causal: bool = False
) -> None:
    """Hold `function(q, k, v, causal=...)` to the error of the same arithmetic in torch."""
    exact = attention(*(t.double() for t in inputs), causal=causal)
    usual = attention(*inputs, causal=causal)
    judge.as_right_as(named(name, causal), function(*inputs, causal=causal), usual, exact)


def named(name: str, causal: bool) -> str:
    return f"{name}, causal" if causal else name


# -- torch's scaled_dot_product_attention


def of_torch(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    from torch.nn.functional import scaled_dot_product_attention

    heads_first = (t.transpose(1, 2) for t in (q, k, v))
    return scaled_dot_product_attention(*heads_first, is_causal=causal).transpose(1, 2)


def sdpa() -> tuple[str, dict[str, Any]]:
    seed()
    judge = Judge()
    types = [torch.float16]
    if torch.cuda.is_bf16_supported():
        types.append(torch.bfloat16)
    for dtype, causal in product(types, (False, True)):
        compare(judge, short(dtype), of_torch, *random(2, 130, 4, 64, dtype, 3), causal=causal)
    return judge.verdict(f"torch {torch.__version__}: scaled_dot_product_attention is right")


# -- flash_attn: forward, backward, and sequences of several lengths in one call

FORWARD_SIZES = (64, 96, 128, 192, 256)
FORWARD_HEADS = 6
# (batch, length): few blocks for a large card, whose multiprocessors then share the keys of a block
# (flash_fwd_splitkv_kernel), and enough for each to have its own (flash_fwd_kernel)
SHAPES = ((2, 257), (4, 900))
BACKWARD_SIZES = (64, 128, 256)
BACKWARD_HEADS = 4
LENGTHS = (5, 64, 131, 1, 300)
HEADS, KEY_HEADS, SIZE = 4, 2, 128


def flash_forward() -> tuple[str, dict[str, Any]]:
    from flash_attn import flash_attn_func

    seed()
    judge = Judge()
    for dtype, size in product((torch.float16, torch.bfloat16), FORWARD_SIZES):
        for causal, key_heads, shape in product((False, True), (FORWARD_HEADS, 2), SHAPES):
            (q,) = random(*shape, FORWARD_HEADS, size, dtype)
            k, v = random(*shape, key_heads, size, dtype, 2)
            heads = f"heads {FORWARD_HEADS}:{key_heads}"
            name = f"{short(dtype)}, size {size}, {heads}, length {shape[1]}"
            compare(judge, name, flash_attn_func, q, k, v, causal=causal)
    return flash_verdict(judge, f"{len(judge.figures)} cases")


def flash_verdict(judge: Judge, what: str) -> tuple[str, dict[str, Any]]:
    return judge.verdict(f"flash_attn {version('flash-attn')}: {what} right")


def gradients(
    function: Attention, inputs: tuple[Tensor, ...], weight: Tensor, *, causal: bool
) -> tuple[Tensor, ...]:
    leaves = tuple(t.detach().requires_grad_() for t in inputs)
    out = function(*leaves, causal=causal)
    return torch.autograd.grad(out, leaves, weight)


def flash_backward() -> tuple[str, dict[str, Any]]:
    from flash_attn import flash_attn_func

    seed()
    judge = Judge()
    types = (torch.float16, torch.bfloat16)
    for dtype, size, causal in product(types, BACKWARD_SIZES, (False, True)):
        q, weight = random(2, 129, BACKWARD_HEADS, size, dtype, 2)
        k, v = random(2, 129, BACKWARD_HEADS // 2, size, dtype, 2)
        doubles = tuple(t.double() for t in (q, k, v))
        exact = gradients(attention, doubles, weight.double(), causal=causal)
        usual = gradients(attention, (q, k, v), weight, causal=causal)
        found = gradients(flash_attn_func, (q, k, v), weight, causal=causal)
        name = named(f"{short(dtype)}, size {size}", causal)
        for letter, a, b, c in zip("qkv", found, usual, exact):
            judge.as_right_as(f"d{letter}, {name}", a, b, c, factor=3)
    return flash_verdict(judge, f"{len(judge.figures)} gradients")


def flash_varlen() -> tuple[str, dict[str, Any]]:
    from flash_attn import flash_attn_varlen_func

    seed()
    judge = Judge()
    edges = [sum(LENGTHS[:n]) for n in range(len(LENGTHS) + 1)]
    places = torch.tensor(edges, dtype=torch.int32, device="cuda")
    longest = max(LENGTHS)
    q = random(1, edges[-1], HEADS, SIZE, torch.float16)[0][0]
    k, v = (t[0] for t in random(1, edges[-1], KEY_HEADS, SIZE, torch.float16, 2))
    for causal in (False, True):
        packed = flash_attn_varlen_func(
            q, k, v, places, places, longest, longest, causal=causal
        )  # fmt: skip
        for n, length in enumerate(LENGTHS):
            rows = slice(edges[n], edges[n + 1])
            alone = (t[rows][None] for t in (q, k, v))
            part = partial(lambda found, *_, **__: found, packed[rows][None])
            compare(judge, f"length {length}", part, *alone, causal=causal)
    return flash_verdict(judge, f"lengths {LENGTHS}")


# -- SageAttention. It computes in 8 bits, so its error is measured, not its bits

# The paper's tables (arXiv 2410.02367 and 2411.10958): cosine similarity above 0.99 and relative
# L1 below 0.1 for all of its kernels, on the inputs of models; random ones are easier.
MOST_RELATIVE = 0.1
MOST_FROM_COSINE = 0.01


def sageattention() -> tuple[str, dict[str, Any]]:
    from sageattention import sageattn

    seed()
    judge = Judge()
    for dtype, size, causal in product((torch.float16, torch.bfloat16), (64, 128), (False, True)):
        q, k, v = random(2, 512, 4, size, dtype, 3)
        found = sageattn(q, k, v, tensor_layout="NHD", is_causal=causal)
        exact = attention(q.double(), k.double(), v.double(), causal=causal)
        name = named(f"{short(dtype)}, size {size}", causal)
        judge.hold(f"relative, {name}", relative_error(found, exact), MOST_RELATIVE)
        cosine = torch.nn.functional.cosine_similarity(
            found.double().flatten(), exact.flatten(), dim=0
        )
        judge.hold(f"1 - cosine, {name}", 1 - float(cosine), MOST_FROM_COSINE)
    return judge.verdict(f"sageattention {version('sageattention')}: within its error of float64")


# -- transformers: a tiny model of random weights with flash_attention_2 and with eager

WORDS = 311
PADDING = 23


def model(implementation: str) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation=implementation,
    )
    return LlamaForCausalLM(config).to("cuda", torch.float16).eval()


def logits(of: Any, words: Tensor, mask: Tensor | None = None) -> Tensor:
    found: Tensor = of(input_ids=words, attention_mask=mask).logits
    return found


def functions_of(run: Any) -> set[str]:
    """The names of the operators and kernels that run."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        run()
        torch.cuda.synchronize()
    return {event.key for event in seen.key_averages()}


def transformers_flash() -> tuple[str, dict[str, Any]]:
    import transformers

    seed()
    fast, eager = model("flash_attention_2"), model("eager")
    eager.load_state_dict(fast.state_dict())
    exact = model("eager")
    exact.load_state_dict(fast.state_dict())
    exact = exact.double()
    words = torch.randint(0, WORDS, (2, 70), device="cuda")
    mask = torch.ones_like(words)
    mask[1, :PADDING] = 0  # a shorter text, padded in front
    judge = Judge()

    with torch.no_grad():
        whole = (logits(of, words) for of in (fast, eager, exact))
        judge.as_right_as("whole", *whole, factor=4)
        padded = (logits(of, words, mask)[1:, PADDING:] for of in (fast, eager))
        # in float64 the mask of eager itself makes no numbers (transformers 5.17)
        judge.as_right_as("padded", *padded, logits(exact, words[1:, PADDING:]), factor=4)
        names = functions_of(lambda: fast(input_ids=words))
    if not any("flash" in name.lower() for name in names):
        raise AssertionError("the model runs, but not with flash_attn: no such kernel was called")
    return judge.verdict(f"transformers {transformers.__version__}: flash_attn is used and right")


# -- xformers


def attend(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    # without its compiled library it warns on import, and then finds no operator
    from xformers.ops import LowerTriangularMask, memory_efficient_attention

    mask = LowerTriangularMask() if causal else None
    found: Tensor = memory_efficient_attention(q, k, v, attn_bias=mask)
    return found


def xformers_attention() -> tuple[str, dict[str, Any]]:
    import xformers

    seed()
    judge = Judge()
    for size, causal in product((64, 128), (False, True)):
        inputs = random(2, 128, 4, size, torch.float16, 3)
        compare(judge, f"size {size}", attend, *inputs, causal=causal)
    return judge.verdict(f"xformers {xformers.__version__}: memory_efficient_attention is right")


# -- the attention that torch and libraries choose by themselves

PACKAGES = (
    ("flash-attn", "flash_attn"),
    ("sageattention", "sageattention"),
    ("xformers", "xformers.ops"),
)
# torch/nn/attention: SDPBackend
CHOICES = {
    -1: "none",
    0: "math (slow)",
    1: "flash",
    2: "memory-efficient",
    3: "cuDNN",
    4: "overrideable",
}


def chosen_by_torch() -> dict[str, str]:
    found = {}
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for size in (64, 256):
            q, k, v = (t.transpose(1, 2) for t in random(1, 128, 4, size, dtype, 3))
            name = f"torch, {short(dtype)}, head size {size}"
            choice = int(torch._fused_sdp_choice(q, k, v))
            found[name] = CHOICES.get(choice, str(choice))
    q, k, v = (t.transpose(1, 2) for t in random(1, 128, 4, 64, torch.float16, 3))
    mask = torch.zeros(128, 128, device="cuda", dtype=torch.float16)
    choice = int(torch._fused_sdp_choice(q, k, v, attn_mask=mask))
    found["torch, fp16 with a mask"] = CHOICES.get(choice, str(choice))
    return found


def of_packages() -> dict[str, str]:
    """Each package: its version, or why an application that tries it falls back in silence."""
    found = {}
    for name, module in PACKAGES:
        try:
            installed = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
            continue
        try:
            importlib.import_module(module)
            found[name] = installed
        except Exception as error:  # noqa: BLE001 - whatever it is, applications go on without it
            found[name] = f"{installed}, cannot be imported ({type(error).__name__}: {error})"[:300]
    return found


def of_transformers() -> dict[str, str]:
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except Exception as error:  # noqa: BLE001 - absent or broken: both are what is asked here
        absent = isinstance(error, ModuleNotFoundError) and error.name == "transformers"
        return {} if absent else {"transformers": f"cannot be imported ({error})"[:300]}
    config = LlamaConfig(
        vocab_size=11, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    return {"transformers": str(model.config._attn_implementation)}


def attention_in_use() -> tuple[str, dict[str, Any]]:
    found = {**chosen_by_torch(), **of_packages(), **of_transformers()}
    kernels = ", ".join(dict.fromkeys(v for k, v in found.items() if k.startswith("torch, ")))
    parts = [f"torch: {kernels}"]
    parts += [f"{name}: {seen}" for name, seen in found.items() if not name.startswith("torch, ")]
    return "; ".join(parts), found
