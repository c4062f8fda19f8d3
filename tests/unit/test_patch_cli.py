"""`tritonwin patch` as a person and as a program sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import Call
from trees import describe_tree
from triton_trees import make_tree

from tritonwin.system.host import DATA_VARIABLE


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    return make_tree("3.6.0", tmp_path / "site")


@pytest.fixture
def patch(package: Path, call: Call) -> Any:
    def called(*args: str, code: int = 0) -> Any:
        done = call("patch", *args, "--triton", package, "--json")
        assert done.status == code
        return done.document

    return called


def states(document: dict[str, Any]) -> set[str]:
    return {rule["state"] for rule in document["rules"]}


def test_from_status_to_revert(package: Path, patch: Any) -> None:
    before = describe_tree(package)
    status = patch("status", code=1)
    (rule,) = (each for each in status["rules"] if each["id"] == "windows-build")
    assert rule == {
        "id": "windows-build",
        "defect": "CC",
        "need": "jit",
        "file": "runtime/build.py",
        "state": "needed",
        "reason": rule["reason"],
    }
    assert (status["flavour"], status["version"]) == ("upstream", "3.6.0")

    diff = patch("diff")
    assert (diff["status"], diff["journal"]) == ("planned", None)
    assert "+libraries = ['cuda'] if os.name == \"nt\" else ['libcuda.so.1']" in diff["diff"]
    assert describe_tree(package) == before

    applied = patch("apply")
    assert applied["changed"] == diff["changed"]
    assert applied["journal"]
    assert "needed" not in states(applied)
    assert patch("status")["status"] == "examined"
    again = patch("apply")
    assert (again["status"], again["journal"]) == ("nothing", None)

    reverted = patch("revert")
    assert reverted["status"] == "reverted"
    assert set(reverted["changed"]) == set(applied["changed"])
    assert describe_tree(package) == before
    assert patch("revert")["status"] == "nothing"


def test_options_and_refusals_reach_the_session(package: Path, patch: Any) -> None:
    document = patch("apply", "--import-time", code=2)
    assert "belongs to a Python" in document["error"]["message"]
    assert patch("apply", "--only", "temp-files")["changed"] == ["backends/nvidia/compiler.py"]
    knobs = package / "knobs.py"
    knobs.write_text(knobs.read_text() + "# mine\n")
    assert patch("apply", code=1)["refused"][0]["fits"] == ["tool-variables"]
    assert patch("apply", "--allow-unknown")["unverified"] == ["knobs.py"]
    knobs.write_text(knobs.read_text() + "# mine\n")
    assert patch("revert", code=1)["conflicts"][0]["place"] == str(knobs)


def test_a_fork_is_offered_what_it_lacks(call: Call, tmp_path: Path) -> None:
    done = call("patch", "status", "--triton", make_tree("windows:3.6.0.post26", tmp_path))
    assert done.status == 1
    assert "This is triton-windows: it carries its own support" in done.out
    needed = [line.split()[1] for line in done.out.splitlines() if line.startswith("  needed")]
    assert needed == [
        "last-error", "tensor-map-shape", "last-error-launcher", "tool-variables", "extern-grep",
        "extern-folder",
    ]  # fmt: skip


def test_for_people(package: Path, call: Call) -> None:
    at = f"--triton {package}\n"  # the commands are about the same folder
    for word, said in (
        ("status", "24 needed, 0 unknown. See them: "),
        ("status", f"patch diff {at}"),
        ("diff", "--- a/runtime/build.py\n"),
        ("diff", f"patch apply {at}"),
        ("apply", f"patch revert {at}"),
        ("status", "Nothing is needed."),
        ("revert", "Everything is as it was before."),
    ):
        shown = call("patch", word, "--triton", package).out
        assert shown.isascii()
        assert said in shown
