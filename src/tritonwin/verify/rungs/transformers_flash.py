"""A tiny model of random weights with flash_attention_2 and with eager; no download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers
from compare import Judge, seed
from transformers import LlamaConfig, LlamaForCausalLM

if TYPE_CHECKING:
    from torch import Tensor

WORDS = 311
PADDING = 23


def model(implementation: str) -> Any:
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


def functions_of(run: Any) -> set[str]:
    """The names of the operators and kernels that run."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        run()
        torch.cuda.synchronize()
    return {event.key for event in seen.key_averages()}


def prove() -> tuple[str, dict[str, Any]]:
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

    def whole(of: Any) -> Tensor:
        found: Tensor = of(input_ids=words).logits
        return found

    def padded(of: Any) -> Tensor:
        found: Tensor = of(input_ids=words, attention_mask=mask).logits
        return found[1:, PADDING:]

    def alone(of: Any) -> Tensor:
        found: Tensor = of(input_ids=words[1:, PADDING:]).logits
        return found

    with torch.no_grad():
        judge.as_right_as("whole", whole(fast), whole(eager), whole(exact), factor=4)
        # in float64 the mask of eager itself makes no numbers (transformers 5.17)
        judge.as_right_as("padded", padded(fast), padded(eager), alone(exact), factor=4)
        names = functions_of(lambda: fast(input_ids=words))
    if not any("flash" in name.lower() for name in names):
        raise AssertionError("the model runs, but not with flash_attn: no such kernel was called")
    return judge.verdict(f"transformers {transformers.__version__}: flash_attn is used and right")
