"""`tritonwin install` and `tritonwin matrix` as a person calls them, on a real environment."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Call, Shop
from list_server import list_server
from target_env import TargetEnvironment
from wheel_files import make_wheel

from tritonwin.cli.app import run
from tritonwin.output.changes import EventLine
from tritonwin.remedies import target_pip
from tritonwin.system.codec import from_json

SAGE = "sageattention-1.0.6-py3-none-any.whl"


@pytest.fixture(autouse=True)
def offered(tmp_path: Path) -> None:
    """The wheels of the shop."""
    wheels = tmp_path / "w"
    make_wheel(wheels, SAGE, ["helper"])
    make_wheel(wheels, "helper-2.0-py3-none-any.whl")
    make_wheel(wheels, "sageattention-2.2.0+cu128torch2.9.1.post6-cp39-abi3-win_amd64.whl")
    make_wheel(wheels, "xformers-0.0.1-py3-none-any.whl", code="raise ImportError('no')")


@pytest.fixture
def unchanged(shop: Shop) -> Iterator[None]:
    """The environment is at the end as it was."""
    before = shop.target.files()
    yield
    assert shop.target.files() == before


@pytest.mark.usefixtures("unchanged")
def test_install_prove_and_give_back(shop: Shop) -> None:
    done = shop.install("sageattention", "--yes")
    assert done.status == 0
    assert "install sageattention 1.0.6, helper 2.0" in done.out
    assert "import sageattention: imported" in done.out
    assert (shop.target.site_packages / "helper" / "__init__.py").is_file()
    again = shop.install("sageattention", "--yes")
    assert (again.status, "is installed" in again.out) == (0, True)
    assert run(["undo", "--yes"]) == 0


@pytest.mark.usefixtures("unchanged")
def test_dry_run_shows_the_plan_and_touches_nothing(shop: Shop) -> None:
    done = shop.install("sageattention", "--dry-run")
    assert (done.status, "do not fit: --all" in done.out) == (0, True)
    everything = shop.install("sageattention", "--dry-run", "--all")
    assert everything.status == 0
    assert "made for win_amd64" in everything.out
    assert "Nothing was changed." in everything.out
    planned = shop.install("sageattention", "--dry-run", "--json")
    (change,) = planned.document["plan"]["changes"]
    assert (planned.status, planned.document["schema"]) == (0, "tritonwin.install/2")
    assert [source["name"] for source in change["sources"]] == ["sageattention", "helper"]
    assert all(len(source["sha256"]) == 64 for source in change["sources"])


def test_upstream_triton_gives_way_to_the_fork(shop: Shop) -> None:
    shop.target.install("triton-3.4.0-py3-none-any.whl")
    make_wheel(shop.wheels, "triton_windows-3.5.1.post24-py3-none-any.whl")
    done = shop.install("triton-windows", "--dry-run", "--json")
    (change,) = done.document["plan"]["changes"]
    assert (done.status, "instead of triton 3.4.0" in change["what"]) == (0, True)


def test_events(shop: Shop) -> None:
    done = shop.install("helper", "--yes", "--json-lines")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert (done.status, {event["schema"] for event in events}) == (0, {"tritonwin.event/3"})
    for event in events:
        from_json(EventLine, event)
    assert events[-2]["event"] == {"event": "step", "text": "importing helper"}
    moments = [event["seconds"] for event in events]
    assert moments == sorted(moments)
    assert events[-1]["event"]["outcome"]["status"] == "installed"


@pytest.mark.usefixtures("unchanged")
def test_a_wheel_that_is_not_what_its_name_says(shop: Shop) -> None:
    """It is refused before pip sees it; test_wheel_lies.py has the other lies."""
    make_wheel(shop.wheels, SAGE.replace("sageattention", "evilpkg")).rename(shop.wheels / SAGE)
    done = shop.install("sageattention==1.0.6", "--yes", "--all")
    assert (done.status, "metadata calls it evilpkg" in done.words) == (1, True)


@pytest.mark.parametrize("place", ["file:///nowhere/evil", "https://example.org/evil-1.tar.gz"])
def test_a_wheel_that_asks_for_a_package_by_address(shop: Shop, place: str) -> None:
    make_wheel(shop.wheels, SAGE, [f"evil @ {place}"])
    done = shop.install("sageattention==1.0.6", "--dry-run")
    assert (done.status, f"asks for evil at {place}" in done.err) == (2, True)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.skipif(sys.platform == "win32", reason="Wine's job objects hold no limits")
def test_a_dependency_that_unpacks_to_more_memory_than_pip_may_take(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = target_pip._OWN.replace(str(target_pip._MOST_MEMORY), str(300 * 2**20))
    monkeypatch.setattr(target_pip, "_OWN", few)
    (shop.wheels / "helper-2.0-py3-none-any.whl").unlink()
    file = shop.wheels / "helper-3.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("helper-3.0.dist-info/METADATA", bytes(400 * 2**20))
        bomb.writestr("helper-3.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    done = shop.install("sageattention==1.0.6", "--yes")
    assert (done.status, "MemoryError" in done.err) == (2, True)


@pytest.mark.usefixtures("unchanged")
def test_no_is_no(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tritonwin.output.changes.agreed", lambda _: False)
    done = shop.install("sageattention")
    assert (done.status, "Nothing was changed." in done.out) == (1, True)


@pytest.mark.usefixtures("unchanged")
def test_nothing_fits(shop: Shop) -> None:
    done = shop.install("sageattention>=2", "helper", "--yes", "--all")
    assert done.status == 1
    assert "sageattention>=2: no wheel fits" in done.out
    assert f"not what was asked for (>=2): {SAGE}" in done.words


def test_a_package_that_cannot_be_imported_is_said_to_be_one(shop: Shop) -> None:
    done = shop.install("xformers", "--yes", "--json")
    assert (done.status, done.document["status"]) == (1, "import-failed")
    assert done.document["journal"]
    assert done.document["imports"][0]["error"] == "ImportError: no"


def test_matrix(call: Call) -> None:
    done = call("matrix")
    assert done.status == 0
    assert "2.15   3.9     -" in done.out
    assert "Turing" in done.out
    assert done.out.isascii()
    assert all(row["source"] for row in call("matrix", "--json").document["matrix"]["pairs"])


@pytest.mark.usefixtures("unchanged")
def test_a_wheel_of_a_public_list(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found and installed with no option but --yes; not asked twice, and not at all when told so."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    make_wheel(tmp_path / "needed", "helper-2.0-py3-none-any.whl")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "needed"))
    words = ["install", "sageattention", "--python", shop.target.python, "--yes"]
    with list_server() as server:
        asset = shop.wheels / SAGE
        place = {
            "name": "mirror",
            "form": "github-releases",
            "address": server.releases("me/sage", [server.asset(asset, digest=False)]),
            "packages": ["sageattention"],
            "hashes": "digest",
            "trust": "test",
            "checked": "2026-11-28",
        }
        table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in place.items())
        (tmp_path / "lists.toml").write_text(f"[[places]]\n{table}")
        monkeypatch.setenv("TRITONWIN_LISTS", str(tmp_path / "lists.toml"))

        assert shop.call(*words, "--no-default-lists").status == 1
        assert server.asked == []
        done = shop.call(*words)
        said = f"{SAGE} fits. With --allow-unhashed it is taken. Without a hash nothing"
        assert (done.status, said in done.words) == (1, True)
        server.releases("me/sage", [server.asset(asset)])
        server.asked.clear()
        done = shop.call(*words, "--json")
        assert done.status == 0
        assert [status for _, status in server.asked] == [200, 206, 200]
        (source, _) = done.document["plan"]["changes"][0]["sources"]
        assert source["location"].startswith(server.address)
    assert [i["error"] for i in done.document["imports"]] == [None]
    assert run(["undo", "--yes"]) == 0


def test_a_login_is_used_and_is_neither_shown_nor_kept(
    target_with_pip: TargetEnvironment, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with list_server() as server:
        address = server.wheel(make_wheel(tmp_path / "w", SAGE)).replace("//", "//bob:pa55w0rd@")
        python = ["--python", target_with_pip.python]
        words = [address, *python, "--allow-unhashed", "--no-default-lists", "--yes"]
        both = [call("install", *words), call("install", *words, "--reinstall", "--json")]
        assert [done.status for done in both] == [0, 0]
        assert None not in server.tokens
    kept = [path.read_bytes() for path in tmp_path.rglob("*.json*")]
    assert json.dumps(server.address)[1:-1].encode() in b"".join(kept)
    said = [done.words.encode() for done in both]
    assert not any(b"pa55w0rd" in text for text in [*kept, *said])
