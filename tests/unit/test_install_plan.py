"""From requests to exact files, with a real pip, a real environment and tiny wheels."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from healthy import HEALTHY, TARGET, dist, part
from packaging.requirements import Requirement
from target_env import TargetEnvironment
from wheel_files import add_to_index, make_wheel, sha256

from tritonwin.errors import UserError
from tritonwin.facts.records import Facts, Torch
from tritonwin.support import pip as pip_module
from tritonwin.support.chooser import choose
from tritonwin.support.fitting import needs_of
from tritonwin.support.install_plan import (
    InstallPlan,
    parse_request,
    parse_requests,
    plan,
    sources_for,
)
from tritonwin.support.links import WheelLink
from tritonwin.support.pip import Pip, PipError, configured_places, dry_run
from tritonwin.support.sources import Sources
from tritonwin.support.wheel_choice import FileSource


@pytest.fixture
def target(pip_target: TargetEnvironment) -> TargetEnvironment:
    return pip_target


def facts_of(target: TargetEnvironment, *installed: tuple[str, ...]) -> Facts:
    """The healthy Windows machine, but with these distributions: in the facts and in fact.

    Each is a name, a version, and what it requires.
    """
    for name, version, *requires in installed:
        target.install(f"{name.replace('-', '_')}-{version}-py3-none-any.whl", *requires)
    versions = {name: version for name, version, *_ in installed}
    torch = versions.get("torch")
    return replace(
        HEALTHY,
        distributions=tuple(dist(name, version) for name, version in versions.items()),
        torch=Torch(version=torch, location="t", source="t", cuda="12.8") if torch else None,
    )


def ask(facts: Facts, target: TargetEnvironment, sources: Sources, *names: str) -> InstallPlan:
    return plan(facts, [Requirement(name) for name in names], sources, target.pip)


def wanted(found: InstallPlan) -> list[tuple[str, str]]:
    return [(item.name, item.version) for item in found.downloads]


def test_a_wheel_and_what_it_lacks(target: TargetEnvironment, tmp_path: Path) -> None:
    facts = facts_of(target, ("torch", "2.9.1+cu128"))
    wheels = tmp_path / "wheels"
    flash = make_wheel(
        wheels, "flash_attn-2.8.3+cu128torch2.9-py3-none-any.whl", ["torch", "einops"]
    )
    einops = make_wheel(wheels, "einops-0.8.0-py3-none-any.whl")
    make_wheel(wheels, "torch-2.14.1-py3-none-any.whl")
    before = target.files()
    found = ask(facts, target, Sources(lists=(str(wheels),), offline=True), "flash-attn")
    assert wanted(found) == [("flash-attn", "2.8.3+cu128torch2.9"), ("einops", "0.8.0")]
    assert [item.sha256 for item in found.downloads] == [sha256(flash), sha256(einops)]
    assert found.complete
    assert target.files() == before


def test_a_place_whose_name_is_longer_than_a_disk_allows(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    facts, wheels = facts_of(target), tmp_path / "wheels"
    make_wheel(wheels, "einops-0.8.0-py3-none-any.whl")
    sources = Sources(lists=(str(wheels), "x" * 5000), offline=True)
    assert wanted(ask(facts, target, sources, "einops")) == [("einops", "0.8.0")]


@pytest.mark.parametrize("again", ["torch", "Torch<3", "t/torch-2.9.1+cu128-py3-none-any.whl"])
def test_a_package_is_named_once(again: str) -> None:
    with pytest.raises(UserError, match="torch is named twice"):
        parse_requests(["torch==2.8", "numpy", again])
    assert [r.name for r in parse_requests(["torch==2.8", "numpy"])] == ["torch", "numpy"]


def test_torch_takes_its_triton_and_its_companions_along(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    facts = facts_of(
        target,
        ("torch", "2.8.0+cu128"),
        ("triton-windows", "3.4.0.post21"),
        ("torchvision", "0.23.0+cu128", "torch==2.8.0"),
    )
    index, on_torch = tmp_path / "simple", tmp_path / "cu128"
    add_to_index(index, "triton_windows-3.5.1.post24-py3-none-any.whl")
    add_to_index(index, "triton_windows-3.8.0.post29-py3-none-any.whl")
    add_to_index(on_torch, "torch-2.9.1+cu128-py3-none-any.whl")
    add_to_index(on_torch, "torchvision-0.24.1+cu128-py3-none-any.whl", ["torch==2.9.1"])
    sources = Sources(indexes=(index.as_uri(),), torch_indexes=(on_torch.as_uri(),))
    found = ask(facts, target, sources, "torch")
    assert wanted(found) == [
        ("torch", "2.9.1+cu128"),
        ("triton-windows", "3.5.1.post24"),
        ("torchvision", "0.24.1+cu128"),
    ]
    assert any("triton-windows is replaced as well" in note for note in found.notes)


def test_the_newest_torch_for_which_everything_has_a_wheel(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    facts = facts_of(target)
    on_torch, wheels = tmp_path / "cu130", tmp_path / "w"
    for version in ("2.8.0", "2.9.1", "2.10.0", "2.14.1"):
        add_to_index(on_torch, f"torch-{version}+cu130-py3-none-any.whl")
    for version in ("2.8", "2.9"):
        make_wheel(wheels, f"flash_attn-2.8.3+cu130torch{version}-py3-none-any.whl", ["torch"])
    sources = Sources(lists=(str(wheels),), torch_indexes=(on_torch.as_uri(),))
    found = ask(facts, target, sources, "flash-attn", "torch")
    assert wanted(found) == [("torch", "2.9.1+cu130"), ("flash-attn", "2.8.3+cu130torch2.9")]
    assert found.notes == ("torch 2.9.1+cu130, not 2.14.1+cu130: there is no flash-attn for that",)
    alone = ask(facts, target, sources, "flash-attn")
    assert wanted(alone) == wanted(found)
    assert alone.notes[0] == "torch is needed and is not installed"
    none = ask(facts, target, sources, "xformers", "torch>=2.10")
    assert not none.complete
    assert none.choices[0].version == "2.14.1+cu130"


def test_a_cuda_tag_counts_when_everything_exists_for_it(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    """cu132 is newer and has no torchaudio, so the set comes from cu130."""
    facts = facts_of(
        target, ("torch", "2.9.1+cu128"), ("torchaudio", "2.9.1+cu128", "torch==2.9.1")
    )
    indexes = [tmp_path / tag for tag in ("cu132", "cu130")]
    for index in indexes:
        add_to_index(index, f"torch-2.14.1+{index.name}-py3-none-any.whl")
    add_to_index(indexes[1], "torchaudio-2.14.1+cu130-py3-none-any.whl", ["torch==2.14.1"])
    sources = Sources(torch_indexes=tuple(index.as_uri() for index in indexes))
    found = ask(facts, target, sources, "torch==2.14.1")
    assert wanted(found) == [("torch", "2.14.1+cu130"), ("torchaudio", "2.14.1+cu130")]
    (indexes[1] / "torch" / "index.html").unlink()
    alone = ask(facts, target, Sources(torch_indexes=(indexes[0].as_uri(),)), "torch==2.14.1")
    assert [choice.file for choice in alone.choices][1:] == [None]


@pytest.mark.parametrize("tag", ["win_arm64", "win_amd64"])
def test_an_arm64_pc(tag: str) -> None:
    """A wheel for ARM64 from a named list, whose place is said; no CUDA wheel for an emulated one."""
    target = replace(part("target", platform_tag=tag).target or TARGET, version="3.12.9")
    facts = replace(HEALTHY, target=target, system=replace(HEALTHY.system, machine="ARM64"))
    sources = sources_for(facts, lambda: Pip(("pip",)), indexes=("i",))
    assert bool(sources.torch_indexes) == (tag == "win_amd64")
    without = choose(Requirement("torch"), [], needs_of(facts)).choice
    assert any("NVIDIA's own index" in text for text in without.notes)
    file = f"torch-2.14.1+cu134-cp312-cp312-{tag}.whl"
    link = WheelLink(location=f"https://h.org/{file}", source="i", sha256="0" * 64)
    needs = replace(needs_of(facts), gpus=("12.1",), driver_cuda="13.4")
    found = choose(Requirement("torch"), [link], needs).choice
    assert found.file == (file if tag == "win_arm64" else None)
    assert found.file or "emulated on an ARM64 PC" in found.in_short()[0]
    assert not found.file or any("driver R615" in note for note in found.notes)


def test_a_torch_that_is_only_needed_is_chosen_like_any_other(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    facts = facts_of(target)
    index, on_torch = tmp_path / "simple", tmp_path / "cu130"
    add_to_index(index, "bitsandbytes-0.50.2-py3-none-any.whl", ["torch>=2.3"])
    add_to_index(index, "torch-2.14.1-py3-none-any.whl")  # the CPU build
    add_to_index(on_torch, "torch-2.14.1+cu130-py3-none-any.whl")
    sources = Sources(indexes=(index.as_uri(),), torch_indexes=(on_torch.as_uri(),))
    found = ask(facts, target, sources, "bitsandbytes")
    assert wanted(found) == [("torch", "2.14.1+cu130"), ("bitsandbytes", "0.50.2")]
    assert "torch is needed" in found.notes[0]


def test_what_is_there_is_kept_unless_asked_for(target: TargetEnvironment, tmp_path: Path) -> None:
    facts = facts_of(target, ("torch", "2.9.1+cu128"), ("triton-windows", "3.5.1.post24"))
    wheel = make_wheel(tmp_path / "w", "triton_windows-3.5.1.post24-py3-none-any.whl")
    sources = Sources(lists=(str(wheel.parent),), offline=True)
    found = ask(facts, target, sources, "triton-windows")
    assert found.downloads == ()
    assert [c.installed for c in found.choices] == [True]
    again = plan(facts, [Requirement("triton-windows")], sources, target.pip, reinstall=True)
    assert [(d.name, d.sha256) for d in again.downloads] == [("triton-windows", sha256(wheel))]


def test_nothing_fits(target: TargetEnvironment, tmp_path: Path) -> None:
    facts = facts_of(target, ("torch", "2.15.0+cu130"))
    make_wheel(tmp_path / "w", "triton_windows-3.8.0.post29-py3-none-any.whl")
    sources = Sources(lists=(str(tmp_path / "w"),), offline=True)
    found = ask(facts, target, sources, "triton-windows", "xformers")
    assert not found.complete
    assert found.downloads == ()
    triton, xformers = found.choices
    assert "no triton-windows 3.9 exists yet" in triton.notes[0]
    assert "no source names a wheel of xformers" in xformers.notes[0]


def test_pip_refuses_what_is_missing_and_another_hash(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    facts = facts_of(target, ("torch", "2.9.1+cu128"))
    wheel = make_wheel(tmp_path / "w", "bitsandbytes-0.50.2-py3-none-any.whl", ["nowhere"])
    with pytest.raises(PipError, match="nowhere"):
        ask(facts, target, Sources(lists=(str(wheel.parent),), offline=True), "bitsandbytes")
    other = make_wheel(tmp_path / "x", "xformers-0.0.35-py3-none-any.whl")
    (tmp_path / "list.txt").write_text(f"{other.as_uri()}#sha256={'0' * 64}")
    with pytest.raises(PipError, match=r"(?i)hash"):
        ask(facts, target, Sources(lists=(str(tmp_path / "list.txt"),), offline=True), "xformers")


def test_the_chosen_file_is_installed_where_pip_would_take_another(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    facts = facts_of(target, ("torch", "2.9.1+cu128"))
    first, second = tmp_path / "one", tmp_path / "two"
    wheel = add_to_index(first, "bitsandbytes-0.50.2-py3-none-any.whl")
    add_to_index(second, "bitsandbytes-0.50.2-7-py3-none-any.whl")  # pip prefers a build number
    found = ask(facts, target, Sources(indexes=(first.as_uri(), second.as_uri())), "bitsandbytes")
    (item,) = found.downloads
    assert (item.location, item.sha256) == (wheel.as_uri(), sha256(wheel))


def test_no_index_and_no_file_from_an_untrusted_place(
    target: TargetEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = facts_of(target, ("torch", "2.9.1+cu128"))
    make_wheel(tmp_path / "w", "bitsandbytes-0.50.2-py3-none-any.whl", ["helper"])
    sources = Sources(lists=(str(tmp_path / "w"),), indexes=("http://example.org/simple",))
    seen: list[list[str]] = []

    def fake(*args: object, options: list[str], **more: object) -> tuple[FileSource, ...]:
        seen.append(options)
        return (FileSource(name="helper", version="1", location="http://h.org/h.whl", sha256=None),)

    monkeypatch.setattr("tritonwin.support.install_plan.dry_run", fake)
    with pytest.raises(PipError, match="helper would come from http://"):
        ask(facts, target, sources, "bitsandbytes")
    assert "--no-index" in seen[0]


def test_a_wheel_by_its_path(target: TargetEnvironment, tmp_path: Path) -> None:
    facts = facts_of(target, ("torch", "2.9.1+cu128"))
    wheel = make_wheel(tmp_path / "a b", "sageattention-1.0.6-py3-none-any.whl")
    request = parse_request(str(wheel))
    assert request.name == "sageattention"
    found = plan(facts, [request], Sources(offline=True), target.pip)
    assert wanted(found) == [("sageattention", "1.0.6")]


@pytest.mark.parametrize(
    ("text", "name", "url"),
    [
        ("torch<2.9", "torch", None),
        ("flash-attn @ https://h.org/x.whl", "flash-attn", "https://h.org/x.whl"),
        (
            "https://h.org/flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl#sha256=0",
            "flash-attn",
            "https://h.org/flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl#sha256=0",
        ),
    ],
)
def test_requests(text: str, name: str, url: str | None) -> None:
    request = parse_request(text)
    assert (request.name, request.url) == (name, url)


@pytest.mark.parametrize("folder", ["a#b", "a?b", "a @ b", "a%20b"])
def test_a_wheel_by_its_path_in_a_folder_of_any_name(tmp_path: Path, folder: str) -> None:
    wheel = tmp_path / folder / "einops-0.7.0-py3-none-any.whl"
    request = parse_request(str(wheel))
    assert (request.name, request.url) == ("einops", wheel.as_uri())


@pytest.mark.parametrize(
    "text", ["", "not a package", "x.whl", "--index-url=https://h.org", "-e ."]
)
def test_no_request(text: str) -> None:
    with pytest.raises(UserError, match="names no package"):
        parse_request(text)


def test_sources_are_those_that_pip_is_configured_for(
    target: TargetEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built_in = configured_places(target.pip)
    assert built_in.index
    assert built_in.index.startswith("https://")
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://me:secret@example.org/simple\n"
        "extra-index-url =\n    https://a.example.org\n    https://b.example.org\n"
        "find-links = /wheels\n"
        "[download]\nfind-links = /elsewhere\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    facts = facts_of(target)
    sources = sources_for(facts, lambda: target.pip, lists=("mine",))
    assert sources.lists == ("mine", "/wheels")
    assert sources.indexes == (
        "https://me:secret@example.org/simple",
        "https://a.example.org",
        "https://b.example.org",
    )
    assert sources.torch_indexes[0].endswith("/cu130")
    monkeypatch.setenv("PIP_INDEX_URL", "https://env.example.org/simple")
    assert configured_places(target.pip).index == "https://env.example.org/simple"
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    assert configured_places(target.pip).index is not None
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert configured_places(target.pip).index is None


def test_sources_without_asking_pip() -> None:
    def nobody() -> Pip:
        raise AssertionError

    offline = sources_for(HEALTHY, nobody, lists=("mine",), offline=True)
    assert (offline.lists, offline.indexes, offline.torch_indexes) == (("mine",), (), ())
    named = sources_for(HEALTHY, nobody, indexes=("https://example.org",))
    assert named.indexes == ("https://example.org",)


def test_a_pip_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PipError, match="cannot be started"):
        dry_run(Pip((str(tmp_path / "python"),)), ["torch"])
    monkeypatch.setattr(pip_module, "RESOLVE_TIMEOUT", 0.2)
    slow = Pip((sys.executable, "-c", "import time; time.sleep(60)"))
    with pytest.raises(PipError, match="did not finish"):
        dry_run(slow, ["torch"])
    monkeypatch.setattr(pip_module, "RESOLVE_TIMEOUT", 60.0)
    old = Pip((sys.executable, "-c", "print('usage')"))
    with pytest.raises(PipError) as error:
        dry_run(old, ["torch"])
    assert "pip 22.2" in error.value.help
    report = {
        "install": [
            {
                "download_info": {"url": "u", "archive_info": {"hash": "sha256=ab"}},
                "metadata": {"name": "A_b", "version": "1"},
            }
        ]
    }
    noisy = Pip((sys.executable, "-c", f"print('hello'); print({json.dumps(report)!r})"))
    (item,) = dry_run(noisy, ["torch"])
    assert (item.name, item.sha256) == ("a-b", "ab")
