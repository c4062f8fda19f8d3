"""`tritonwin driver on|off|status`: what is written, what is told, and that all of it goes away."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Call
from driver_outcomes import UPSTREAM, outcomes
from environments import VirtualEnvironment, make_venv
from installed import target
from trees import describe_tree, tree_hash, write
from triton_trees import make_tree, sources

from tritonwin.driver.carry import DriverSession
from tritonwin.facts.torch_triton import HOOK
from tritonwin.journal import Store
from tritonwin.patch.session import PatchSession

STUBS = {
    "__init__.py": "__version__ = '3.6.0'\n",
    "knobs.py": "nvidia = amd = runtime = None\n",
    "backends/__init__.py": "from triton.backends.nvidia import driver\n",
    "backends/compiler.py": "GPUTarget = tuple\n",
    "backends/driver.py": "class GPUDriver: pass\n",
    "backends/nvidia/__init__.py": "",
    "runtime/__init__.py": "",
    "runtime/_allocation.py": "",
    "runtime/build.py": "def compile_module_from_src(**_): raise AssertionError\n",
}
HOOKED = ("--import-time", "--allow-unknown")
KEPT = ("backends/nvidia/driver.py", "backends/nvidia/driver.c")


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VirtualEnvironment:
    """A Python whose Triton is 3.6.0's driver and as much around it as its import needs."""
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    made = make_venv(tmp_path / "venv")
    package = made.site_packages / "triton"
    write(package, STUBS)
    for name in KEPT:
        shutil.copyfile(sources("3.6.0") / name, package / name)
    subprocess.run([made.python, "-c", "import triton.backends"], check=True, timeout=60)
    return made


Switch = Callable[[str], Any]


@pytest.fixture
def driver(python: VirtualEnvironment, call: Call) -> Switch:
    """`tritonwin driver WORD` of that Python: its document."""
    return lambda word: call("driver", word, "--python", python.python, "--json").document


@pytest.fixture
def patch(python: VirtualEnvironment, call: Call) -> Callable[..., Any]:
    return lambda *words: call("patch", *words, "--python", python.python, "--json").document


def compiler(python: VirtualEnvironment) -> str:
    """The module that `compile_module_from_src` of the driver module comes from."""
    code = "import triton.backends.nvidia.driver as d; print(d.compile_module_from_src.__module__)"
    done = subprocess.run(
        [python.python, "-c", code], check=True, timeout=60, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_it_goes_on_and_off_and_leaves_nothing(python: VirtualEnvironment, driver: Switch) -> None:
    before = tree_hash(python.site_packages)
    assert driver("status")["status"] == "off"
    on = driver("on")
    assert (on["status"], on["version"]) == ("switched-on", "3.6.0")
    assert on["backends"] == [{"name": "nvidia", "reason": ""}]
    assert compiler(python) == "_tritonwin_driver.adopt"
    again = driver("on")
    assert again["status"] == "unchanged"
    status = driver("status")
    assert status["status"] == "on"
    assert (status["hook"]["starts"], status["hook"]["current"]) == (True, True)
    off = driver("off")
    assert off["status"] == "switched-off"
    assert compiler(python) == "triton.runtime.build"
    assert tree_hash(python.site_packages) == before
    assert driver("off")["status"] == "unchanged"


def test_undo_leaves_the_tree_as_it_was(
    python: VirtualEnvironment, driver: Switch, call: Call
) -> None:
    before = tree_hash(python.site_packages)
    call("undo", driver("on")["journal"], "--yes")
    shutil.rmtree(python.site_packages / "__pycache__", ignore_errors=True)
    assert tree_hash(python.site_packages) == before


NO_LIST = ("void *params[] = {{", "void *parameters[] = {{")


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        (KEPT[1], [('"ss#ii"', '"ss#iii"')], "load_binary in driver.c parses 'ss#iii'"),
        (
            KEPT[0],
            [('params.append("&profile_scratch")', ""), NO_LIST],
            "the launcher has no list of parameters",
        ),
    ],
    ids=["driver", "launcher"],
)
def test_what_is_not_known_is_left_alone(
    python: VirtualEnvironment,
    driver: Switch,
    name: str,
    changes: list[tuple[str, str]],
    reason: str,
) -> None:
    file = python.site_packages / "triton" / name
    for change in changes:
        file.write_text(file.read_text().replace(*change))
    before = tree_hash(python.site_packages)
    refused = driver("on")
    assert (refused["status"], refused["backends"][0]["reason"]) == ("refused", reason)
    shutil.rmtree(python.site_packages / "__pycache__", ignore_errors=True)
    assert tree_hash(python.site_packages) == before


@pytest.mark.parametrize("rules", [False, True])
def test_a_hook_that_was_cut_short_is_off_for_every_command(
    python: VirtualEnvironment, driver: Switch, patch: Any, rules: bool
) -> None:
    """`on` writes it again, `off` takes it out, and neither claims what `status` denies."""
    before = tree_hash(python.site_packages)
    driver("on")
    if rules:
        patch("apply", *HOOKED)
    hook = python.site_packages / HOOK
    for word, end in (("on", "on"), ("off", "off")):
        hook.write_bytes(hook.read_bytes()[:-2000])
        found = driver("status")
        assert (found["status"], found["hook"]["damaged"]) == ("off", True)
        assert driver(word)["status"] == f"switched-{word}"
        assert driver("status")["status"] == end
    assert compiler(python) == "triton.runtime.build"
    assert tree_hash(python.site_packages) == before


def test_a_triton_that_no_longer_takes_the_driver_has_it_off(
    python: VirtualEnvironment, driver: Switch
) -> None:
    driver("on")
    file = python.site_packages / "triton" / KEPT[0]
    file.write_text(file.read_text().replace(*NO_LIST))
    assert driver("status")["status"] == "off"
    refused = driver("on")
    assert refused["status"] == "refused"
    assert refused["backends"][0]["reason"]


def test_rules_and_driver_share_one_hook_in_any_order(
    python: VirtualEnvironment, driver: Switch, patch: Any
) -> None:
    before = tree_hash(python.site_packages)
    turn = {
        "driver on": lambda: driver("on"),
        "driver off": lambda: driver("off"),
        "patch on": lambda: patch("apply", *HOOKED),
        "patch off": lambda: patch("revert"),
    }
    for first, second in (("driver", "patch"), ("patch", "driver"), ("patch", "patch")):
        other = {"driver": "patch", "patch": "driver"}
        for word in (first, other[first]):
            turn[f"{word} on"]()
        assert driver("status")["status"] == "on"
        assert compiler(python) == "_tritonwin_driver.adopt"
        turn[f"{second} off"]()
        assert (python.site_packages / HOOK).exists()
        left = driver("status")["status"]
        assert left == ("off" if second == "driver" else "on")
        assert (patch("status")["hook"] is None) is (second == "patch")
        turn[f"{other[second]} off"]()
        shutil.rmtree(python.site_packages / "__pycache__", ignore_errors=True)
        assert tree_hash(python.site_packages) == before, (first, second)


FORKS = [f"windows:{v}" for v in ("3.1.0.post17", "3.4.0.post21", "3.8.0.post29")]


@pytest.mark.parametrize("version", [*UPSTREAM, *FORKS])
def test_files_patched_on_disk_and_the_driver_come_and_go_in_any_order(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    package = make_tree(version, tmp_path / "site")
    python = target(tmp_path / "site", executable=str(tmp_path / "python"))
    store = Store(tmp_path / "journal")
    patch = PatchSession(package=package, owner=python.executable, store=store, target=python)
    driver = DriverSession(triton=patch, timeout=10)
    commands = {
        "patch": (patch.apply, patch.revert),
        "driver": (driver.switch_on, driver.switch_off),
    }
    before, whole = describe_tree(package.parent), describe_tree(package)
    for first, second in (("patch", "driver"), ("driver", "patch")):
        for order in ((first, second), (second, first)):
            for name in (first, second):
                commands[name][0]()
            assert driver.status().status == "on"
            assert describe_tree(package) != whole
            for name in order:
                commands[name][1]()
            assert describe_tree(package.parent) == before, (first, order)


@pytest.mark.parametrize(
    "version",
    [v if v in ("3.2.0", "3.9.0") else pytest.param(v, marks=pytest.mark.full) for v in UPSTREAM],
)
def test_sources_that_were_patched_on_disk_make_the_same_calls(
    version: str, tmp_path: Path
) -> None:
    """Whatever the rules changed for Windows in the C text, the driver reads the same from it."""
    package = shutil.copytree(sources(version), tmp_path / "site" / "triton")
    before = outcomes(version, "python", tmp_path)
    store = Store(tmp_path / "journal")
    PatchSession(package=package, owner=str(package), store=store).apply()
    after = outcomes(version, "python", tmp_path, package=package)
    assert len(before) > 250
    # the rule int64-arguments: Python says of a long long in other words that it is too small
    words = {f"wrong i64 {2**63} {n}" for n in range(2)}
    wrong = [(b, a) for b, a in zip(before, after, strict=True) if a != b and a[0] not in words]
    assert wrong == []
