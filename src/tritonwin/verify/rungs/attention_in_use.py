"""The attention that torch and libraries choose by themselves."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from compare import random, short

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


def of_torch() -> dict[str, str]:
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


def prove() -> tuple[str, dict[str, Any]]:
    found = {**of_torch(), **of_packages(), **of_transformers()}
    kernels = ", ".join(dict.fromkeys(v for k, v in found.items() if k.startswith("torch, ")))
    parts = [f"torch: {kernels}"]
    parts += [f"{name}: {seen}" for name, seen in found.items() if not name.startswith("torch, ")]
    return "; ".join(parts), found
