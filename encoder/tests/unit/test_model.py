"""The byte model: which front ends see the future, what they cost, what the model writes."""

from __future__ import annotations

import pytest
import torch
from byte_model import ByteModel, LeakWarning, Shape, future_leak, sample
from compare import random_bytes
from front_ends import ARMS, Whole, normalised, published

SMALL = Shape(layers=1, width=16, heads=2, context=24)
CAUSAL = [name for name, arm in ARMS.items() if arm.causal]
LEAKING = [name for name, arm in ARMS.items() if not arm.causal]


@pytest.mark.parametrize("arm", CAUSAL)
def test_a_causal_front_end_shows_no_later_byte(arm: str) -> None:
    model = ByteModel(arm, SMALL)
    assert future_leak(model) == 0.0
    assert model(random_bytes(2, 24)).shape == (2, 24, 256)


@pytest.mark.parametrize("arm", LEAKING)
def test_a_leaking_front_end_warns_and_is_found_out(arm: str) -> None:
    with pytest.warns(LeakWarning, match="asked to predict"):
        model = ByteModel(arm, SMALL)
    assert future_leak(model) > 1e-4


def test_the_leak_test_leaves_the_model_as_it_was() -> None:
    model = ByteModel("embedding", SMALL).train()
    future_leak(model)
    assert model.training


def test_an_unknown_front_end_is_named() -> None:
    with pytest.raises(ValueError, match="no front end is called 'fourier'; there are embedding"):
        ByteModel("fourier", SMALL)


@pytest.mark.parametrize(
    ("arm", "parameters"),
    [
        ("embedding", 256 * 256),
        ("embedding+conv8", 256 * 256 + 256 * 9),
        ("mag-linear", 256 * 256 + 256),
        ("mag", (256 * 512 + 512) + 2 * 512 + (512 * 256 + 256)),
        ("taps", (256 * 512 + 512) + 2 * 512 + (512 * 256 + 256) + 64 * 256),
        ("scalar", (512 + 512) + 2 * 512 + (512 * 256 + 256)),
    ],
)
def test_the_front_end_has_the_size_that_the_table_names(arm: str, parameters: int) -> None:
    assert ByteModel(arm).parameters_of_front() == parameters


def test_random_taps_are_as_large_as_those_of_the_transform() -> None:
    fourier, noise = (
        ByteModel(arm).front.features.taps.detach() for arm in ("taps", "taps-random")
    )
    assert float(noise.norm()) == pytest.approx(float(fourier.norm()), rel=0.05)
    assert abs(float((fourier * noise).sum() / fourier.norm() ** 2)) < 0.1


def test_learnable_taps_learn() -> None:
    model = ByteModel("taps", SMALL)
    model(random_bytes(2, 24)).square().sum().backward()
    gradient = model.front.features.taps.grad
    assert gradient is not None
    assert gradient.abs().sum() > 0


def test_the_source_projects_encoder_is_its_loop() -> None:
    x = random_bytes(2, 64)
    signal = normalised(x).double()
    spectra = torch.stack([torch.fft.rfft(signal.roll(-p, 1)) for p in range(64)], dim=1)
    unit = spectra / spectra.abs()
    wanted = torch.cat((spectra.abs(), unit.imag, unit.real), dim=-1) / 8
    found = Whole(phase=True)(x)
    assert found.shape == (2, 64, 256)
    assert torch.allclose(found[..., :99].double(), wanted, atol=1e-4)
    assert not found[..., 99:].any()
    assert torch.equal(Whole(phase=False)(x)[..., :33], found[..., :33])
    # bytes 0 and 255 in turn: a bin without content has a phase that is a number
    assert Whole(phase=True)(torch.tensor([[0, 255] * 8], dtype=torch.uint8)).isfinite().all()


def test_the_published_kernel_says_one_thing_of_a_row() -> None:
    x = random_bytes(3, 40)
    found = published(normalised(x))
    assert (found == found[:, :1]).all()
    shuffled = published(normalised(x[:, torch.randperm(40)]))
    assert torch.allclose(found, shuffled, atol=1e-5)


def test_sampling_can_be_repeated() -> None:
    model = ByteModel("embedding", SMALL)
    first, again, other = (b"".join(sample(model, b"To be", 40, seed=seed)) for seed in (1, 1, 2))
    assert len(first) == 40
    assert first == again != other


def test_without_temperature_the_likeliest_byte_is_taken() -> None:
    model = ByteModel("embedding", SMALL)
    with torch.no_grad():
        model.body.head.bias[ord("e")] = 1e4
    assert b"".join(sample(model, b"x", 3, temperature=0)) == b"eee"


def test_sampling_from_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="prompt is empty"):
        next(sample(ByteModel("embedding", SMALL), b"", 1))
