"""From requests to exact files, with a real pip, a real environment and tiny wheels."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import cases
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


@pytest.mark.parametrize("row", cases("sets.toml", "sets"))
def test_what_a_request_gets(
    target: TargetEnvironment, tmp_path: Path, row: dict[str, Any]
) -> None:
    facts = facts_of(target, *row.get("installed", ()))
    made: dict[str, Path] = {}
    for folder, key in (("w", "wheels"), ("a b", "apart")):
        for file, *requires in row.get(key, ()):
            made[file] = make_wheel(tmp_path / folder, file, requires)
    indexes = row.get("indexes", {})
    for name, files in indexes.items():
        for file, *requires in files:
            made[file] = add_to_index(tmp_path / name, file, requires)
    addresses = {name: (tmp_path / name).as_uri() for name in indexes}
    sources = Sources(
        lists=(str(tmp_path / "w"),) if "wheels" in row else (),
        indexes=tuple(at for name, at in addresses.items() if not name.startswith("cu")),
        torch_indexes=tuple(at for name, at in addresses.items() if name.startswith("cu")),
        offline=not indexes,
    )
    requests = parse_requests([text.replace("{tmp}", str(tmp_path)) for text in row["ask"]])
    before = target.files()
    if "error" in row:
        with pytest.raises(PipError, match=row["error"]):
            plan(facts, requests, sources, target.pip)
        return
    found = plan(facts, requests, sources, target.pip, reinstall=row.get("reinstall", False))
    assert [d.sha256 for d in found.downloads] == [
        sha256(made[file]) for file in row.get("gets", ())
    ]
    assert bool(found.missing) is ("chosen" in row)
    if "chosen" in row:
        assert [choice.version or "" for choice in found.choices] == row["chosen"]
    elif not row["gets"]:
        assert all(choice.installed for choice in found.choices)
    notes = [*found.notes, *(note for choice in found.choices for note in choice.notes)]
    said = "\n".join(notes)
    assert [text for text in row.get("notes", ()) if text not in said] == []
    assert target.files() == before


def test_a_place_whose_name_is_longer_than_a_disk_allows(
    target: TargetEnvironment, tmp_path: Path
) -> None:
    facts, wheels = facts_of(target), tmp_path / "wheels"
    make_wheel(wheels, "einops-0.8.0-py3-none-any.whl")
    sources = Sources(lists=(str(wheels), "x" * 5000), offline=True)
    found = plan(facts, [Requirement("einops")], sources, target.pip)
    assert [item.version for item in found.downloads] == ["0.8.0"]


@pytest.mark.parametrize("again", ["torch", "Torch<3", "t/torch-2.9.1+cu128-py3-none-any.whl"])
def test_a_package_is_named_once(again: str) -> None:
    with pytest.raises(UserError, match="torch is named twice"):
        parse_requests(["torch==2.8", "numpy", again])
    assert [r.name for r in parse_requests(["torch==2.8", "numpy"])] == ["torch", "numpy"]


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


def test_pip_refuses_another_hash(target: TargetEnvironment, tmp_path: Path) -> None:
    facts = facts_of(target, ("torch", "2.9.1+cu128"))
    other = make_wheel(tmp_path / "x", "xformers-0.0.35-py3-none-any.whl")
    (tmp_path / "list.txt").write_text(f"{other.as_uri()}#sha256={'0' * 64}")
    sources = Sources(lists=(str(tmp_path / "list.txt"),), offline=True)
    with pytest.raises(PipError, match=r"(?i)hash"):
        plan(facts, [Requirement("xformers")], sources, target.pip)


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
        plan(facts, [Requirement("bitsandbytes")], sources, target.pip)
    assert "--no-index" in seen[0]


@pytest.mark.parametrize(("text", "name", "url"), cases("sets.toml", "requests"))
def test_requests(tmp_path: Path, text: str, name: str, url: str) -> None:
    """Of a package, of an address, and of a wheel in a folder of any name."""
    request = parse_request(text.replace("{tmp}", str(tmp_path)))
    assert request.name == name
    assert (request.url or "") == url.replace("{tmp}", tmp_path.as_uri())


@pytest.mark.parametrize("text", cases("sets.toml", "no_requests"))
def test_no_request(text: str) -> None:
    with pytest.raises(UserError, match="names no package"):
        parse_request(text)


def test_sources_are_those_that_pip_is_configured_for(
    target: TargetEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built_in = configured_places(target.pip)
    assert built_in.indexes[0].startswith("https://")
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
    assert configured_places(target.pip).indexes[0] == "https://env.example.org/simple"
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    assert configured_places(target.pip).indexes
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert configured_places(target.pip).indexes == ()


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
