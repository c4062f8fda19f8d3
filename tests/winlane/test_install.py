"""`tritonwin install` on real Windows: real pip, wheels under the names that the public ones bear."""

from __future__ import annotations

import json
from pathlib import Path

from list_server import list_server
from trees import tree_hash
from wheel_files import make_wheel
from winlane import Machine, standins

STABLE = "sageattention-2.2.0+cu130torch2.9.0andhigher.post4-cp39-abi3-win_amd64.whl"
OTHERS = {
    "sageattention-2.2.0+cu130torch2.9.1.post6-cp310-abi3-win_amd64.whl": "needs torch 2.9, this is torch 2.14",
    "sageattention-2.2.0+cu128torch2.9.0andhigher.post4-cp39-abi3-win_amd64.whl": "needs CUDA 12, this torch is built for CUDA 13",
    "sageattention-2.2.0+cu130torch2140-cp313-cp313-win_amd64.whl": "made for cp313, this Python is cp312",
    "sageattention-1.0.6-py3-none-any.whl": "is newer",
}  # fmt: skip


def test_the_wheel_that_fits_is_installed_proven_and_given_back(machine: Machine) -> None:
    machine.gpu("8.9")
    env = machine.environment("3.12", "full", ["pip"])
    standins.cuda_torch(env, machine.fakes, "2.14.1", "13.0")
    folder = env.path("C:\\").joinpath("wheels")
    for file in (STABLE, *OTHERS):
        make_wheel(folder, file, ["helper"])
    make_wheel(folder, "helper-2.0-py3-none-any.whl")
    before = tree_hash(env.home)
    machine.variables["TRITONWIN_HOME"] = r"C:\tritonwin-home"
    args = ("install", "sageattention", "--python", env.python, "--find-links", r"C:\wheels")

    done = machine.tool(*args, "--offline", "--yes", "--json", cwd="C:\\", timeout=180).check()
    report = json.loads(done.stdout)
    (choice,) = report["choices"]
    assert choice["file"] == STABLE
    reasons = {r["file"]: " ".join(r["reasons"]) for r in choice["rejected"]}
    assert reasons.keys() >= OTHERS.keys()  # the copy of the public lists has others
    for file, text in OTHERS.items():
        assert text in reasons[file]
    assert report["status"] == "installed"
    assert [i["outcome"] for i in report["imports"]] == ["imported"]
    assert (env.site_packages / "helper" / "__init__.py").is_file()

    machine.tool("undo", "--yes", cwd="C:\\").check()
    assert tree_hash(env.home) == before


def test_a_public_list_is_asked_once_and_kept(machine: Machine, tmp_path: Path) -> None:
    """With no option named; the second time nothing is sent again, without the place it is kept."""
    machine.gpu("8.9")
    env = machine.environment("3.12", "full", ["pip"])
    standins.cuda_torch(env, machine.fakes, "2.14.1", "13.0")
    files = [make_wheel(tmp_path, file) for file in (STABLE, *OTHERS)]
    machine.variables["TRITONWIN_HOME"] = r"C:\tritonwin-home"
    machine.variables["PIP_NO_INDEX"] = "1"
    machine.variables["NO_PROXY"] = "*"
    machine.variables["TRITONWIN_LISTS"] = r"C:\lists.toml"
    args = ("install", "sageattention", "--python", env.python, "--dry-run", "--json")

    def choice() -> dict[str, object]:
        done = machine.tool(*args, cwd="C:\\", timeout=180).check()
        (found,) = json.loads(done.stdout)["choices"]
        return dict(found)

    with list_server() as server:
        address = server.releases("me/sage", *([server.asset(file)] for file in files))
        env.path("C:\\").joinpath("lists.toml").write_text(
            f"""
            [[places]]
            name = "mirror"
            form = "github-releases"
            address = "{address}"
            hashes = "digest"
            trust = "test"
            checked = "2026-11-28"
            [[packages]]
            name = "sageattention"
            places = ["mirror"]
            """
        )
        first = choice()
        assert (first["file"], first["notes"]) == (STABLE, [])
        assert [s for path, s in server.asked if path.startswith("/repos")] == [200] * len(files)
        server.asked.clear()
        assert choice() == first
        assert [s for path, s in server.asked if path.startswith("/repos")] == [304] * len(files)
        for path in [path for path in server.replies if path.startswith("/repos")]:
            del server.replies[path]
        kept = choice()
    assert kept["file"] == STABLE
    assert "HTTP 404" in str(kept["notes"])
    assert "is used" in str(kept["notes"])
