"""The places of wheels: folders, files, indexes on this disk."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from healthy import HEALTHY
from list_server import ListServer, Reply
from packaging.requirements import Requirement
from wheel_files import add_to_index, make_wheel, sha256

from tritonwin.support.chooser import choose
from tritonwin.support.fitting import needs_of
from tritonwin.support.links import WheelLink
from tritonwin.support.sources import Sources, find
from tritonwin.support.wheel_files import look_into

A = "flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl"
OTHER = "einops-0.8.0-py3-none-any.whl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_wheel(tmp_path, A, ["torch", "einops"])
    make_wheel(tmp_path, OTHER)
    (tmp_path / "flash_attn-broken.whl").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("no wheel")
    return tmp_path


def read_place(place: str, package: str) -> tuple[WheelLink, ...]:
    return find(package, Sources(lists=(place,))).links


def files(links: tuple[WheelLink, ...]) -> list[str]:
    return sorted(link.file for link in links)


def test_a_folder(folder: Path) -> None:
    links = read_place(str(folder), "flash-attn")
    # a name that is none stays: the chooser says what is wrong with it
    assert files(links) == [A, "flash_attn-broken.whl"]
    assert all(link.local for link in links)
    assert files(read_place(folder.as_uri(), "einops")) == [OTHER]


def test_a_folder_laid_out_as_an_index(tmp_path: Path) -> None:
    make_wheel(tmp_path / "flash-attn", A)
    page = tmp_path / "einops" / "index.html"
    page.parent.mkdir()
    page.write_text(f'<a href="../files/{OTHER}#sha256={"0" * 64}">einops</a>')
    assert files(read_place(str(tmp_path), "flash-attn")) == [A]
    (link,) = read_place(str(tmp_path), "einops")
    assert link.location == (tmp_path / "files" / OTHER).as_uri()
    assert link.sha256 == "0" * 64


@pytest.mark.parametrize("name", ["list.txt", "list.json", "list.html", "list"])
def test_a_file_with_a_list(tmp_path: Path, name: str) -> None:
    text = f'<a href="w/{A}">' if name.endswith("html") else f'["w/{A}"]'
    (tmp_path / name).write_text(text)
    (link,) = read_place(str(tmp_path / name), "flash-attn")
    assert link.location == (tmp_path / "w" / A).as_uri().replace("%2B", "+")


def test_a_wheel_itself(folder: Path) -> None:
    (link,) = read_place(str(folder / A), "flash-attn")
    assert (link.file, link.local) == (A, True)
    (far,) = read_place(f"https://example.org/{A}#sha256={'1' * 64}", "flash-attn")
    assert (far.location, far.sha256) == (f"https://example.org/{A}", "1" * 64)


def test_find_in_all_places(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "simple"
    make_wheel(index / "flash-attn", A.replace("2.8.3", "2.8.2"))
    make_wheel(index / "torch", "torch-2.9.1-cp312-cp312-win_amd64.whl")
    on_torch = tmp_path / "cu128"
    make_wheel(on_torch / "torch", "torch-2.9.1+cu128-cp312-cp312-win_amd64.whl")
    sources = Sources(
        lists=(str(folder), str(tmp_path / "none"), "https://example.org/list.txt"),
        indexes=(index.as_uri(),),
        torch_indexes=(on_torch.as_uri(),),
        offline=True,
    )
    found = find("flash-attn", sources)
    assert [link.file for link in found.links][-1] == A.replace("2.8.3", "2.8.2")
    assert [bool(link.index) for link in found.links] == [False, False, False]
    assert any("none" in note for note in found.notes)
    assert any("--offline: https://example.org/list.txt" in note for note in found.notes)
    assert len(find("torch", sources).links) == 2
    add_to_index(index, OTHER)
    assert [link.index for link in find("einops", Sources(indexes=sources.indexes)).links] == [
        index.as_uri()
    ]
    nothing = find("xformers", sources)
    assert nothing.links == ()


def test_addresses_of_an_index_a_page_and_a_list(server: ListServer, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, A)
    index = server.index("simple", wheel)
    server.replies["/release"] = Reply(f'<a href="release/{A}">{A}</a>'.encode())
    server.replies["/list.txt"] = Reply(f"release/{A}".encode())
    (link,) = read_place(index, "flash-attn")
    assert (link.index, link.sha256) == (index, sha256(wheel))
    (link,) = read_place(f"{server.address}/release", "flash-attn")
    assert (link.index, link.file) == (None, A)
    (link,) = read_place(f"{server.address}/list.txt", "flash-attn")
    assert link.location == f"{server.address}/release/{A}"
    broken = find("flash-attn", Sources(indexes=(f"{server.address}/none", "http://example.org")))
    assert broken.links == ()
    assert ["not https" in note for note in broken.notes] == [True]


def test_a_page_from_the_network_makes_no_local_file_trusted(
    server: ListServer, tmp_path: Path
) -> None:
    """Its links to files are named with the reason, and hide no wheel of the user's own."""
    wheel = make_wheel(tmp_path / "own", OTHER)
    server.replies["/page.html"] = Reply(f'<a href="{wheel.as_uri()}">w</a>'.encode())
    server.replies["/list.txt"] = Reply(str(wheel).encode())
    needs = needs_of(HEALTHY)
    places = (f"{server.address}/page.html", f"{server.address}/list.txt")
    for lists, taken in ((places, None), ((*places, str(wheel)), str(wheel))):
        found = find("einops", Sources(lists=lists))
        chosen = choose(Requirement("einops"), found.links, needs)
        assert (chosen.link and chosen.link.location) == taken
    (page,) = find("einops", Sources(lists=places[:1])).links
    refused = choose(Requirement("einops"), [page], needs, allow_unhashed=True).choice
    assert "https addresses alone" in refused.in_short()[0]


def requires_dist(link: WheelLink) -> tuple[str, ...] | None:
    return look_into(link).requires


@pytest.mark.parametrize("way", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_metadata_that_is_damaged(tmp_path: Path, way: int) -> None:
    """Found by fuzzing: each way of packing has errors of its own."""
    file = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w", way) as made:
        made.writestr("a-1.dist-info/METADATA", "Name: a\n" * 100)
    data = bytearray(file.read_bytes())
    at = data.index(b"METADATA") + len("METADATA")
    data[at : at + 12] = bytes(range(100, 112))
    file.write_bytes(bytes(data))
    assert requires_dist(WheelLink(location=str(file), source="disk")) is None


def test_metadata_of_a_wheel_on_disk(folder: Path) -> None:
    (link, broken) = sorted(read_place(str(folder), "flash-attn"), key=lambda k: k.file)
    assert requires_dist(link) == ("torch", "einops")
    assert requires_dist(broken) is None
    (folder / A).write_bytes(b"no zip")
    assert requires_dist(link) is None


def test_metadata_apart(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, OTHER, ["torch>=2"])
    (tmp_path / f"{OTHER}.metadata").write_text("Requires-Dist: torch\n  >=2\n\nRequires-Dist: no")
    link = WheelLink(
        location="https://example.org/x.whl",
        source="test",
        sha256=sha256(wheel),
        metadata=(tmp_path / f"{OTHER}.metadata").as_uri(),
    )
    assert requires_dist(link) == ("torch >=2",)
