"""The public lists: read in every form, kept, and replaced by what was kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from list_server import ListServer, Reply
from wheel_files import make_wheel, sha256

from tritonwin.errors import UserError
from tritonwin.support import sources
from tritonwin.support.links import WheelLink
from tritonwin.support.lists import (
    HUB_TREE,
    VARIABLE,
    Form,
    ListTable,
    Place,
    known_wheels,
    public_lists,
    token_of,
)
from tritonwin.support.sources import Listing, Sources, find
from tritonwin.system.host import Environment
from tritonwin.system.toml import read_resource

A = "sageattention-2.2.0+cu128torch2.9.1-cp312-cp312-win_amd64.whl"
B = "sageattention-2.1.1+cu128torch2.8.0-cp312-cp312-win_amd64.whl"
OTHER = "sageattn3-1.0.0+cu130torch2.9.1-cp312-cp312-win_amd64.whl"
RELEASES = "/repos/me/sage/releases?per_page=100"
SECOND = f"{RELEASES}&page=2"


@pytest.fixture
def wheels(tmp_path: Path) -> dict[str, Path]:
    return {file: make_wheel(tmp_path / "w", file) for file in (A, B, OTHER)}


def place(address: str, form: Form = "github-releases", name: str = "me") -> Place:
    return Place(name=name, form=form, address=address, packages=("sageattention",))


def asked_of(home: Path, *places: Place, token: str | None = None) -> Sources:
    return Sources(public=ListTable(places=places), folder=home / "lists", token=token)


def found(asked: Sources) -> Listing:
    return find("sageattention", asked)


def names(links: tuple[WheelLink, ...]) -> list[str]:
    return sorted(link.file for link in links)


def releases(server: ListServer, wheels: dict[str, Path]) -> Place:
    """Two pages; the older release is of a time without digests."""
    new = [server.asset(wheels[A]), server.asset(wheels[OTHER])]
    unfinished = {**server.asset(wheels[A]), "name": "x.whl", "state": "starter"}
    unfinished["browser_download_url"] = f"{server.address}/x.whl"
    old = [server.asset(wheels[B], digest=False)]
    return place(server.releases("me/sage", [*new, unfinished], old))


def test_releases_of_github(server: ListServer, wheels: dict[str, Path], tmp_path: Path) -> None:
    asked = asked_of(tmp_path, releases(server, wheels))
    listing = found(asked)
    assert listing.notes == ()
    by_name = {link.file: link for link in listing.links}
    assert by_name.keys() == {A, B}
    size = wheels[A].stat().st_size
    assert (by_name[A].sha256, by_name[A].size) == (sha256(wheels[A]), size)
    assert (by_name[A].source, by_name[A].index) == ("me", None)
    assert by_name[B].sha256 is None
    found(asked)
    assert server.asked == [(RELEASES, 200), (SECOND, 200)]
    assert found(asked_of(tmp_path, releases(server, wheels))) == listing
    assert server.asked[2:] == [(RELEASES, 304), (SECOND, 304)]


def test_tree_of_the_hub(server: ListServer, wheels: dict[str, Path], tmp_path: Path) -> None:
    """Its hash completes that of a list which names the same file without one."""
    hub = place(server.hub("me/wheels", wheels[A], wheels[OTHER]), "hub")
    address = f"{server.address}/me/wheels/resolve/main/{A.replace('+', '%2B')}"
    (tmp_path / "list.json").write_text(json.dumps({"wheels": [{"url": address}]}))
    asked = asked_of(tmp_path, place(str(tmp_path / "list.json"), "page", "page"), hub)
    (link,) = found(asked).links
    assert (link.source, link.sha256) == ("page", sha256(wheels[A]))
    (link,) = found(asked_of(tmp_path, hub)).links
    assert link.location == f"{server.address}/me/wheels/resolve/main/{A}"
    assert server.asked[-1][1] == 304


@pytest.mark.parametrize("body", [b"[1]", b'[{"oid": "1"}]', b'{"error": "Not here"}'])
def test_no_tree_of_the_hub(server: ListServer, tmp_path: Path, body: bytes) -> None:
    hub = place(server.hub("me/wheels"), "hub")
    server.replies["/api/models/me/wheels/tree/main?recursive=true"] = Reply(body)
    listing = found(asked_of(tmp_path, hub))
    assert listing.links == ()
    assert ["a hub's list of files" in note for note in listing.notes] == [True]


def test_an_index(server: ListServer, wheels: dict[str, Path], tmp_path: Path) -> None:
    index = place(f"{server.address}/simple", "index")
    assert found(asked_of(tmp_path, index)) == Listing(links=())
    page = f'<a href="{server.wheel(wheels[A])}#sha256={sha256(wheels[A])}">{A}</a>'
    server.replies["/simple/sageattention/"] = Reply(page.encode())
    (link,) = found(asked_of(tmp_path, index)).links
    assert (link.index, link.sha256) == (index.address, sha256(wheels[A]))


def test_a_password_is_for_all_pages_and_not_kept(
    server: ListServer, wheels: dict[str, Path], tmp_path: Path
) -> None:
    listed = releases(server, wheels)
    login = replace(listed, address=listed.address.replace("://", "://me:secret@"))
    listing = found(asked_of(tmp_path, login))
    assert names(listing.links) == [B, A]
    assert server.tokens == ["Basic bWU6c2VjcmV0"] * 2
    assert not (tmp_path / "lists").exists()


def test_a_list_without_end(
    server: ListServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_MOST_PAGES", 3)
    server.releases("me/sage", *([[]] * 9))
    (note,) = found(asked_of(tmp_path, place(f"{server.address}/repos/me/sage/releases"))).notes
    assert "more than 3 pages" in note
    assert len(server.asked) == 3


LIMIT = {"X-RateLimit-Remaining": "0"}
FAULTS = [
    ("limit", RELEASES, Reply(status=403, headers=LIMIT), "limit of requests"),
    ("429", SECOND, Reply(status=429, headers={"Retry-After": "9"}), "limit of requests"),
    ("401", RELEASES, Reply(status=401), "HTTP 401"),
    ("404", RELEASES, Reply(status=404), "HTTP 404"),
    ("broken", RELEASES, Reply(status=500), "HTTP 500"),
    ("portal", RELEASES, Reply(b"<html><a href='/login'>Log in</a></html>"), "portal or proxy"),
    ("half", SECOND, Reply(b'[{"assets": [{"name": "'), "portal or proxy"),
    ("object", RELEASES, Reply(b'{"message": "hello"}'), "portal or proxy"),
    ("other", RELEASES, Reply(b'[{"message": "hello"}]'), "not GitHub's list"),
    ("empty", RELEASES, Reply(b"[]"), "names no wheel"),
    ("away", RELEASES, Reply(b"[]", headers={"Link": '<http://x.org/2>; rel="next"'}), "leads on"),
    ("bracket", RELEASES, Reply(b"[]", headers={"Link": '<http://[/>; rel="next"'}), "leads on"),
    ("http", RELEASES, Reply(status=301, headers={"Location": "http://example.org/"}), "not https"),
    ("unasked", SECOND, Reply(status=304), "304"),
]


@pytest.mark.parametrize(
    ("path", "reply", "says"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_a_place_that_does_not_answer_well(
    server: ListServer, wheels: dict[str, Path], tmp_path: Path, path: str, reply: Reply, says: str
) -> None:
    """Without a kept list its first pages count; else the kept list, with its date."""
    listed = releases(server, wheels)
    good = dict(server.replies)
    server.replies[path] = reply
    bare = found(asked_of(tmp_path / "bare", listed))
    assert [says in note for note in bare.notes] == [True]
    assert names(bare.links) == ([A] if path == SECOND else [])
    assert ("only the pages before" in bare.notes[0]) == (path == SECOND)
    server.replies = good
    whole = found(asked_of(tmp_path, listed))
    server.replies = {**good, path: reply}
    again = found(asked_of(tmp_path, listed))
    if reply.status == 304:  # that is what a server says of a page which is known
        assert again == whole
        return
    assert again.links == whole.links
    assert [says in note for note in again.notes] == [True]
    date = json.loads(next((tmp_path / "lists").iterdir()).read_text())["content"]["asked"][:10]
    assert f"its list of {date} is used" in again.notes[0]


def test_a_limit_holds_for_all_places_of_a_host(server: ListServer, tmp_path: Path) -> None:
    server.replies["/a?per_page=100"] = Reply(status=403, headers=LIMIT)
    places = (place(f"{server.address}/a", name="a"), place(f"{server.address}/b", name="b"))
    (first, second) = found(asked_of(tmp_path, *places)).notes
    assert "limit of requests is reached. Wait, or work with local files; a token" in first
    assert second.startswith("b: not asked, as 127.0.0.1")
    assert len(server.asked) == 1


def test_an_owner_that_moved(server: ListServer, wheels: dict[str, Path], tmp_path: Path) -> None:
    server.releases("new/sage", [server.asset(wheels[A])])
    where = {"Location": f"{server.address}/repos/new/sage/releases?per_page=100"}
    server.replies[RELEASES] = Reply(status=301, headers=where)
    listed = place(f"{server.address}/repos/me/sage/releases")
    assert names(found(asked_of(tmp_path, listed)).links) == [A]
    found(asked_of(tmp_path, listed))
    assert [status for _, status in server.asked] == [301, 200, 301, 304]


def test_a_token_goes_to_github_alone_and_may_be_wrong(
    server: ListServer, wheels: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = releases(server, wheels)
    found(asked_of(tmp_path / "1", listed, token="secret"))
    assert server.tokens == [None, None]
    monkeypatch.setattr(sources, "_GITHUB", f"{server.address}/")
    found(asked_of(tmp_path / "2", listed, token="secret"))
    assert server.tokens[2:] == ["Bearer secret", "Bearer secret"]
    monkeypatch.setattr(server, "answer", lambda *_: Reply(status=401))
    listing = found(asked_of(tmp_path / "2", listed, token="secret"))
    assert names(listing.links) == [B, A]  # as they were kept
    assert ["HTTP 401" in note for note in listing.notes] == [True]
    assert "secret" not in repr(listing)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"reader": 0}', b"[" * 100_000])
def test_a_kept_list_that_is_damaged(
    server: ListServer, wheels: dict[str, Path], tmp_path: Path, content: bytes
) -> None:
    listed = releases(server, wheels)
    whole = found(asked_of(tmp_path, listed))
    next((tmp_path / "lists").iterdir()).write_bytes(content)
    assert found(asked_of(tmp_path, listed)) == whole


def test_a_list_that_cannot_be_kept(
    server: ListServer, wheels: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "lists").write_text("a file")
    assert names(found(asked_of(tmp_path, releases(server, wheels))).links) == [B, A]


TABLE = """
[[places]]
name = "mine"
form = "page"
address = "https://example.org/wheels.json"
packages = ["einops"]
hashes = "none"
trust = "ours"
checked = "2026-11-28"
"""


def test_the_shipped_table() -> None:
    places = read_resource("tritonwin.support", "lists.toml", ListTable).places
    assert len({place.name for place in places}) == len(places)
    for place in places:
        assert place.form in {"github-releases", "hub"}
        assert place.packages
        assert place.address.startswith("https://")
        assert place.form != "hub" or HUB_TREE.fullmatch(place.address)


def test_a_table_of_the_user(server: ListServer, tmp_path: Path) -> None:
    (tmp_path / "lists.toml").write_text(TABLE)
    server.replies["/lists.toml"] = Reply(TABLE.encode())
    for named in (str(tmp_path / "lists.toml"), f"{server.address}/lists.toml"):
        env = Environment({VARIABLE: named, "GH_TOKEN": "x\ny", "TRITONWIN_HOME": str(tmp_path)})
        assert [p.name for p in public_lists(env).of("einops")] == ["mine"]
        assert public_lists(env).of("sageattention") == ()
        assert token_of(env) is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[[places]]", "[[places]", "TRITONWIN_LISTS"),
        ('"page"', '"ftp"', "form"),
        ("hashes", "hash", "hash: unknown"),
        ("[[places]]", f"x = {'[' * 5000}\n[[places]]", "nested too deeply"),
        ("[[places]]", f"{'a.' * 300}b = 1\n[[places]]", "too many dots"),
    ],
)
def test_a_table_that_cannot_be_used(tmp_path: Path, old: str, new: str, says: str) -> None:
    (tmp_path / "lists.toml").write_text(TABLE.replace(old, new))
    with pytest.raises(UserError, match=says.replace("[", r"\[")):
        public_lists(Environment({VARIABLE: str(tmp_path / "lists.toml")}))
    with pytest.raises(UserError, match="no table of lists: there is no file"):
        public_lists(Environment({VARIABLE: str(tmp_path / "none.toml")}))


def test_nothing_is_asked_twice_and_all_places_have_one_deadline(
    server: ListServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page for two packages and two runs of the chooser; then the time is used up."""
    server.replies["/list.txt"] = Reply(b"nothing")
    said: list[str] = []
    places = (f"{server.address}/list.txt", f"{server.address}/other")
    named = Sources(lists=places, say=said.append)
    for package in ("sageattention", "flash-attn", "sageattention"):
        find(package, named)
    assert len(server.asked) == len({path for path, _ in server.asked})
    assert said == [f"asking {place}" for place in places]
    monkeypatch.setattr(sources, "_TOGETHER", 0.0)
    server.asked.clear()
    late = find("sageattention", Sources(lists=(f"{server.address}/list.txt",)))
    assert (server.asked, "took 0 s" in late.notes[0]) == ([], True)


@pytest.mark.parametrize("offline", [True, False])
def test_the_copy_that_ships_stands_in(
    server: ListServer, tmp_path: Path, *, offline: bool
) -> None:
    """Offline, or where the place has moved away; with its date, and behind what was kept."""
    (shipped, *_) = known_wheels().of("mjun0812")
    moved = place(f"{server.address}/repos/none/releases", name="mjun0812")
    table = ListTable(places=(replace(moved, packages=("flash-attn",)),))
    found = find("flash-attn", Sources(public=table, offline=offline, folder=tmp_path))
    assert shipped in found.links
    assert f"the list of {known_wheels().date} that ships with tritonwin" in found.notes[0]
    assert bool(server.asked) is not offline
