"""Lists of wheels of every kind, and what they claim."""

from __future__ import annotations

import json

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.support.links import WheelLink, read_list

A = "flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl"
B = "sageattn3-1.0.0+cu130torch291-cp313-cp313-win_amd64.whl"
HASH = "0123456789abcdef" * 4
BASE = "https://example.org/simple/flash-attn/"


def filled(text: str) -> str:
    """A text of the table with its names replaced."""
    for name, value in {"WHEEL": A, "SHORT": HASH[:-1], "HASH": HASH, "ONES": "1" * 64}.items():
        text = text.replace(name, value)
    return text


def read(text: str, base: str = BASE) -> tuple[WheelLink, ...]:
    return tuple(
        link for link in read_list(text, base, "the list") if not link.file.endswith(".tar.gz")
    )


@pytest.mark.parametrize("text", cases("wheel_lists.toml", "alike"))
def test_every_kind_of_list_says_the_same(text: str) -> None:
    (link,) = read(filled(text))
    assert (link.location, link.sha256) == (f"https://h.org/x/{A}", HASH)
    assert (link.file, link.source, link.local) == (A, "the list", False)


def test_an_index_page_in_full() -> None:
    (link,) = read(
        f'<a href="../../packages/{A}" data-requires-python="&gt;=3.9" data-yanked="broken" '
        'data-core-metadata="true">w</a>'
    )
    assert link.location == f"https://example.org/packages/{A}"
    assert (link.requires_python, link.yanked, link.sha256) == (">=3.9", "broken", None)
    assert link.metadata == f"{link.location}.metadata"


def test_a_json_index_in_full() -> None:
    entry = {
        "filename": A,
        "url": f"../files/{A}",
        "hashes": {"sha256": HASH},
        "requires-python": ">=3.9",
        "size": 5,
        "yanked": True,
        "core-metadata": {"sha256": HASH},
    }
    (link,) = read(json.dumps({"files": [entry, {"filename": "a.tar.gz", "url": "a.tar.gz"}]}))
    assert link.location == f"https://example.org/simple/files/{A}"
    assert (link.size, link.yanked, link.requires_python) == (5, "", ">=3.9")
    assert link.metadata is not None


OWN = "file:///home/me/wheels/list.html"
REMOTE = "a page from the network may offer https addresses alone"
SHARE = "it lies on a share that was not named: name its folder with --find-links"
W = "x-1-py3-none-any.whl"


OFFERS = [
    (row["page"], address.removesuffix("W") + W, row.get("refused"))
    for row in cases("addresses.toml", "addresses")
    for address in row["offers"]
]


@pytest.mark.parametrize(("page", "address", "reason"), OFFERS)
def test_what_a_page_may_offer(page: str, address: str, reason: str | None) -> None:
    """In each kind of list; where the page sets a base as well."""
    lists = [address, json.dumps({"url": address}), json.dumps([address])]
    lists += [f'<a href="{address}">w</a>'] if page and "?" not in address else []
    for text in lists:
        assert [link.refused for link in read(text, page)] == [reason], text


def test_a_base_does_not_make_a_page_a_local_one() -> None:
    for base in ("file:///home/me/", "file://host/share/", "c:/", "\\\\host\\share\\"):
        (link,) = read(f'<base href="{base}"><a href="{W}">w</a>')
        assert (link.refused, link.local) in {(REMOTE, True), (None, False)}, link
    (link,) = read(f'<base href="file://host/share/"><a href="{W}">w</a>', OWN)
    assert link.refused == SHARE


SHORT = "its hash is malformed, or one of two that differ"


@pytest.mark.parametrize("text", cases("wheel_lists.toml", "malformed_hash"))
def test_a_malformed_hash_is_an_error_of_that_link(text: str) -> None:
    (link,) = read(filled(text))
    assert (link.refused, link.sha256) == (SHORT, None)


def test_a_hash_of_another_kind_is_none() -> None:
    (link,) = read(json.dumps({"url": f"https://h.org/{W}#md5=0", "digest": "md5:0", "hash": ""}))
    assert (link.refused, link.sha256) == (None, None)


def test_pages_that_show_a_file_become_the_file() -> None:
    (link,) = read(f"https://huggingface.co/who/what/blob/main/{A}?download=true", "")
    assert link.location == f"https://huggingface.co/who/what/resolve/main/{A}?download=true"
    assert link.file == A


def test_a_wheel_named_twice_is_one() -> None:
    assert len(read(f"https://h.org/{A}\nhttps://h.org/{A}\n")) == 1


def test_a_hash_beside_two_wheels_belongs_to_none() -> None:
    links = read(f"https://h.org/{A} https://h.org/{B} sha256:{HASH}")
    assert [link.sha256 for link in links] == [None, None]


@given(
    st.one_of(
        st.text(max_size=200),
        st.text(alphabet='<a href="x.whl">{}[]:,#', max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.sampled_from([A, f"https://h.org/{A}", HASH]),
            lambda inner: st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["url", "hashes", "sha256", "size", "yanked", "torch_version", "name"]),
                inner,
                max_size=4,
            ),
            max_leaves=20,
        ).map(json.dumps),
    )
)  # fmt: skip
def test_any_text_is_read(text: str) -> None:
    for link in read(text):
        assert ".whl" in link.location
        assert link.sha256 is None or len(link.sha256) == 64


def test_a_page_that_ends_in_nonsense_is_read_up_to_there() -> None:
    """Found by fuzzing: Python's parser asserts what a page need not fulfil."""
    (link,) = read(f'<a href="{W}">x</a><![DOCTYPE html>')
    assert link.file == W


def test_half_an_address_is_left_out() -> None:
    page = f'<base href="https://["><a href="//[{A}">x</a><a href="https://h.org/{A}">y</a>'
    assert [link.location for link in read(page)] == [f"https://h.org/{A}"]
