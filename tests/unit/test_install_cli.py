"""`tritonwin install` and `tritonwin matrix` as a person calls them, on a real environment."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from list_server import list_server
from target_env import TargetEnvironment
from wheel_files import make_wheel

from tritonwin.cli.app import run
from tritonwin.output import schema
from tritonwin.output.changes import EventLine
from tritonwin.remedies import target_pip
from tritonwin.system.codec import from_json

SAGE = "sageattention-1.0.6-py3-none-any.whl"


@pytest.fixture
def target(target_with_pip: TargetEnvironment) -> TargetEnvironment:
    return target_with_pip


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    make_wheel(tmp_path / "w", SAGE, ["helper"])
    make_wheel(tmp_path / "w", "helper-2.0-py3-none-any.whl")
    make_wheel(tmp_path / "w", "sageattention-2.2.0+cu128torch2.9.1.post6-cp39-abi3-win_amd64.whl")
    make_wheel(tmp_path / "w", "xformers-0.0.1-py3-none-any.whl", code="raise ImportError('no')")
    return tmp_path / "w"


def install(target: TargetEnvironment, wheels: Path, *args: str) -> int:
    place = ("--find-links", str(wheels), "--offline")
    return run(["install", *args, "--python", str(target.python), *place])


def test_install_prove_and_give_back(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = target.files()
    assert install(target, wheels, "sageattention", "--yes") == 0
    said = capsys.readouterr().out
    assert "install sageattention 1.0.6, helper 2.0" in said
    assert "import sageattention: imported" in said
    assert (target.site_packages / "helper" / "__init__.py").is_file()
    assert install(target, wheels, "sageattention", "--yes") == 0
    assert "is installed" in capsys.readouterr().out
    assert run(["undo", "--yes"]) == 0
    assert target.files() == before


def test_dry_run_shows_the_plan_and_touches_nothing(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = target.files()
    assert install(target, wheels, "sageattention", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "do not fit: --all" in said
    assert install(target, wheels, "sageattention", "--dry-run", "--all") == 0
    said = capsys.readouterr().out
    assert "made for win_amd64" in said
    assert "Nothing was changed." in said
    assert install(target, wheels, "sageattention", "--dry-run", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema.load("tritonwin.install/2")).validate(document)
    (change,) = document["plan"]["changes"]
    assert [source["name"] for source in change["sources"]] == ["sageattention", "helper"]
    assert all(len(source["sha256"]) == 64 for source in change["sources"])
    assert target.files() == before


def test_upstream_triton_goes_before_the_fork_comes(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target.install("triton-3.4.0-py3-none-any.whl")
    make_wheel(wheels, "triton_windows-3.5.1.post24-py3-none-any.whl")
    assert install(target, wheels, "triton-windows", "--dry-run", "--json") == 0
    changes = json.loads(capsys.readouterr().out)["plan"]["changes"]
    assert [c["action"] for c in changes] == ["remove-distribution", "install-distribution"]


def test_events(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(target, wheels, "helper", "--yes", "--json-lines") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {event["schema"] for event in events} == {"tritonwin.event/2"}
    for event in events:
        from_json(EventLine, event)
    assert (events[-2]["event"], events[-2]["text"]) == ("step", "importing helper")
    moments = [event["seconds"] for event in events]
    assert moments == sorted(moments)
    assert events[-1]["outcome"]["status"] == "installed"


def test_a_wheel_that_is_not_what_its_name_says(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused before pip sees it; test_wheel_lies.py has the other lies."""
    before = target.files()
    make_wheel(wheels, SAGE.replace("sageattention", "evilpkg")).rename(wheels / SAGE)
    assert install(target, wheels, "sageattention==1.0.6", "--yes", "--all") == 1
    assert "metadata calls it evilpkg" in " ".join(capsys.readouterr().out.split())
    assert target.files() == before


@pytest.mark.parametrize("place", ["file:///nowhere/evil", "https://example.org/evil-1.tar.gz"])
def test_a_wheel_that_asks_for_a_package_by_address(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    make_wheel(wheels, SAGE, [f"evil @ {place}"])
    assert install(target, wheels, "sageattention==1.0.6", "--dry-run") == 2
    assert f"asks for evil at {place}" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="Wine's job objects hold no limits")
def test_a_dependency_that_unpacks_to_more_memory_than_pip_may_take(
    target: TargetEnvironment,
    wheels: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = target_pip._OWN.replace(str(target_pip._MOST_MEMORY), str(300 * 2**20))
    monkeypatch.setattr(target_pip, "_OWN", few)
    before = target.files()
    (wheels / "helper-2.0-py3-none-any.whl").unlink()
    with zipfile.ZipFile(wheels / "helper-3.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("helper-3.0.dist-info/METADATA", bytes(400 * 2**20))
        bomb.writestr("helper-3.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    assert install(target, wheels, "sageattention==1.0.6", "--yes") == 2
    assert "MemoryError" in capsys.readouterr().err
    assert target.files() == before


def test_a_wheel_of_a_public_list(
    target: TargetEnvironment,
    wheels: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Found and installed with no option but --yes; not asked twice, and not at all when told so."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    make_wheel(tmp_path / "needed", "helper-2.0-py3-none-any.whl")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "needed"))
    words = ["install", "sageattention", "--python", str(target.python), "--yes"]
    before = target.files()
    with list_server() as server:
        place = {
            "name": "mirror",
            "form": "github-releases",
            "address": server.releases("me/sage", [server.asset(wheels / SAGE, digest=False)]),
            "hashes": "digest",
            "trust": "test",
            "checked": "2026-11-28",
        }
        table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in place.items())
        row = '[[packages]]\nname = "sageattention"\nplaces = ["mirror"]\n'
        (tmp_path / "lists.toml").write_text(f"[[places]]\n{table}{row}")
        monkeypatch.setenv("TRITONWIN_LISTS", str(tmp_path / "lists.toml"))

        assert run([*words, "--no-default-lists"]) == 1
        assert server.asked == []
        assert run(words) == 1
        said = " ".join(capsys.readouterr().out.split())
        assert f"{SAGE} fits. With --allow-unhashed it is taken. Without a hash nothing" in said
        server.releases("me/sage", [server.asset(wheels / SAGE)])
        server.asked.clear()
        assert run([*words, "--json"]) == 0
        done = json.loads(capsys.readouterr().out)
        assert [status for _, status in server.asked] == [200, 206, 200]
        (source, _) = done["plan"]["changes"][0]["sources"]
        assert source["location"].startswith(server.address)
    assert [i["outcome"] for i in done["imports"]] == ["imported"]
    assert run(["undo", "--yes"]) == 0
    assert target.files() == before


def test_a_login_is_used_and_is_neither_shown_nor_kept(
    target: TargetEnvironment,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    with list_server() as server:
        address = server.wheel(make_wheel(tmp_path / "w", SAGE)).replace("//", "//bob:pa55w0rd@")
        words = ["--python", str(target.python), "--allow-unhashed", "--no-default-lists", "--yes"]
        assert run(["install", address, *words]) == 0
        assert run(["install", address, "--reinstall", "--json", *words]) == 0
        assert None not in server.tokens
    said = capsys.readouterr()
    kept = [path.read_bytes() for path in tmp_path.rglob("*.json*")]
    assert json.dumps(server.address)[1:-1].encode() in b"".join(kept)
    assert not any(b"pa55w0rd" in text for text in [*kept, (said.out + said.err).encode()])


def test_no_is_no(
    target: TargetEnvironment,
    wheels: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tritonwin.output.terminal.agreed", lambda _: False)
    before = target.files()
    assert install(target, wheels, "sageattention") == 1
    assert "Nothing was changed." in capsys.readouterr().out
    assert target.files() == before


def test_nothing_fits(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = target.files()
    assert install(target, wheels, "sageattention>=2", "helper", "--yes", "--all") == 1
    said = capsys.readouterr().out
    assert "sageattention>=2: no wheel fits" in said
    assert f"not {SAGE}: not what was asked for (>=2)" in said
    assert target.files() == before


def test_a_package_that_cannot_be_imported_is_said_to_be_one(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(target, wheels, "xformers", "--yes", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "import-failed"
    assert document["journal"]
    assert document["imports"][0]["error"] == "ImportError: no"


@pytest.mark.parametrize(
    ("args", "says"),
    [(("x.whl", "--dry-run"), "names no package"), (("sageattention", "--json"), "cannot ask")],
)
def test_wrong_use(
    target: TargetEnvironment,
    wheels: Path,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    says: str,
) -> None:
    assert install(target, wheels, *args) == 2
    captured = capsys.readouterr()
    assert says in captured.err + captured.out


def test_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["matrix"]) == 0
    said = capsys.readouterr().out
    assert "none yet" in said
    assert "Turing" in said
    assert said.isascii()
    assert run(["matrix", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema.load("tritonwin.matrix/1")).validate(document)
    assert all(row["source"] for row in document["matrix"]["pairs"])
