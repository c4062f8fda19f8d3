"""Inputs made to take forever: sixteen times as much takes about sixteen times as long.

Written by hand against each reader of what strangers write: words that a pattern may search from
every place, nesting, names that are counted out, keys and bases that are copied for every part.
What has a bound of its own is shown to have one.
"""

from __future__ import annotations

import contextlib
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from tritonwin.build import runner
from tritonwin.facts.distributions import _named, holds, read_requirement
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output.text import printable
from tritonwin.patch import engine
from tritonwin.patch.rules import RULES
from tritonwin.problems.checks.compiler import _cut_path
from tritonwin.problems.explain import explain_stream
from tritonwin.support import addresses, archives, links, wheel_files, wheels
from tritonwin.system import toml

GROWTH = 16
MORE = 6  # of what linear time would be, on a busy machine; a square is GROWTH times as much
SHORTEST = 0.005  # seconds that are measured rather than rounded

Make = Callable[[int], str]


def lists(text: str) -> None:
    links.read_list(text, "https://h.example/simple/", "list")


def logs(text: str) -> None:
    explain_stream(BytesIO(text.encode()))


def steps(text: str) -> None:
    counter = runner.Counter()
    for line in text.splitlines():
        counter.feed(line)


def names(text: str) -> None:
    with contextlib.suppress(wheels.WheelNameError):
        wheels.read(text)


def requirements(text: str) -> None:
    read_requirement(text)


def patched(text: str) -> None:
    engine.transform("backends/nvidia/driver.c", f"long e = GetLastError();{text}", RULES, "fork")


def redacted(text: str) -> None:
    Redactor(Identity()).text(text)


CASES: dict[str, tuple[Callable[[str], object], Make]] = {
    "list: one word": (lists, lambda n: "a" * n),
    "list: hashes": (lists, lambda n: "sha256=" * n),
    "list: wheels in a word": (lists, lambda n: "a.whl?" * n),
    "json: one number": (lists, lambda n: f"[{'9' * n}]"),
    "json: nested": (lists, lambda n: "[" * n),
    "html: comments": (lists, lambda n: "<p>" + "<!--" * n),
    "html: half tags": (lists, lambda n: "<p>" + "<a " * n),
    "html: attributes": (lists, lambda n: "<a " + ' b="c"' * n),
    "html: a base for every link": (
        lists,
        lambda n: f'<base href="{"x/" * n}">' + '<a href="a.whl">' * n,
    ),
    "address: passwords": (addresses.without_secrets, lambda n: "x://" + "a@//" * n),
    "name: digits": (names, lambda n: f"a-{'1' * n}-py3-none-any.whl"),
    "name: dashes": (names, lambda n: "a-" * n + ".whl"),
    "log: escapes": (logs, lambda n: "\x1b[" * n),
    "log: one line": (logs, lambda n: "error: " * n),
    "log: tracebacks": (logs, lambda n: "Traceback (most recent call last)\n" * n),
    "log: full lines": (logs, lambda n: ("a" * 79 + "\n") * (n // 40)),
    "ninja: steps": (steps, lambda n: "[1/2] FAILED: " * n),
    "requirement: parentheses": (requirements, lambda n: "triton; " + "(" * n),
    "requirement: versions": (requirements, lambda n: "triton" + ">=1," * n + ">=1"),
    "C: one word": (patched, lambda n: "a" * n),
    "metadata: semicolons": (_named, lambda n: "a" + ";" * n),
    "C: shapes": (patched, lambda n: "shapeInt[" * n),
    "C: addresses": (patched, lambda n: "a = (b) GetProcAddress(" * n),
    "options: one word": (_cut_path, lambda n: "a" * n),
    "terminal: overrides": (printable, lambda n: "\u202e\x1b[1" * n),
    "redacted: separators": (redacted, lambda n: "C:\\" * n),
    "redacted: addresses": (redacted, lambda n: "a@b." * n),
    "redacted: words": (redacted, lambda n: "token=" * n),
}


def seconds(action: Callable[[str], object], text: str) -> float:
    """Of the faster of two tries: the first may have had something to load."""
    times = []
    for _ in range(2):
        started = time.process_time()
        action(text)
        times.append(time.process_time() - started)
    return min(times)


def within(bound: float, action: Callable[[str], object], text: str) -> bool:
    """True if it ever takes less: others slow the processor down now and then, not each time."""
    return any(seconds(action, text) < bound for _ in range(4))


@pytest.mark.parametrize(("action", "make"), CASES.values(), ids=CASES)
def test_time_grows_with_the_input(action: Callable[[str], object], make: Make) -> None:
    size = 500
    while (spent := seconds(action, make(size))) < SHORTEST and size < 20_000:
        size *= 2
    bound = max(spent, SHORTEST) * GROWTH * MORE
    assert within(bound, action, make(size * GROWTH))


DEAR = {
    "log: words that are no errors": (logs, "x" * 2000 + "xerror:" * 20_000, "xletter " * 20_000),
    "list: a word that is no wheel": (lists, "a" * 100_000, "a " * 50_000),
}


@pytest.mark.parametrize(("action", "dear", "cheap"), DEAR.values(), ids=DEAR)
def test_what_is_looked_at_is_looked_at_once(
    action: Callable[[str], object], dear: str, cheap: str
) -> None:
    """Linear like the rest, and hundreds of times as slow: a log of 100 MB took a quarter hour."""
    assert within(max(seconds(action, cheap), SHORTEST) * 10, action, dear)


# An index may answer with as many parts as a page may have bytes; three million tags took 35 s.
ENDLESS = {
    "tags": lambda n: "<b>" * n,
    "ends": lambda n: "<b>" + "</b>" * n,
    "comments": lambda n: "<b>" + "<!---->" * n,
    "one tag": lambda n: "<a " + "x=1 " * n + ">",
    "the same link": lambda n: '<a href="a-1-py3-none-any.whl">' * n,
    "addresses": lambda n: "a-1-py3-none-any.whl\n" * n,
}


@pytest.mark.parametrize("make", ENDLESS.values(), ids=ENDLESS)
def test_a_list_is_read_to_a_bound(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_LINKS", 500)
    monkeypatch.setattr(links, "MAX_PARTS", 5000)
    assert within(max(seconds(lists, make(20_000)), SHORTEST) * 5, lists, make(400_000))
    late = "[" + "{}," * 6000 + '"https://h.example/a-1-py3-none-any.whl"]'
    assert links.read_list(late, "", "list") == ()


def test_tags_are_not_counted_out() -> None:
    """A name of 2,000 characters stood for 36 million tags."""
    many = "-".join(".".join(f"{kind}{i}" for i in range(300)) for kind in "abc")
    with pytest.raises(wheels.WheelNameError, match="27000000 tags"):
        wheels.read(f"a-1-{many}.whl")


def test_a_base_without_end_is_no_base() -> None:
    page = f'<base href="https://x.example/{"x/" * 5000}"><a href="a-1-py3-none-any.whl">'
    (link,) = links.read_list(page, "https://h.example/", "page")
    assert link.location == "https://h.example/a-1-py3-none-any.whl"


@pytest.mark.parametrize("depth", [900, 100_000])
def test_lists_in_lists(depth: int) -> None:
    text = "[" * depth + '"https://h.example/a-1-py3-none-any.whl"' + "]" * depth
    assert len(links.read_list(text, "", "list")) == 1


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 5000, "a = " + "{a = " * 5000, "a = " + "9" * 5000, "a." * 5000 + "a = 1"],
    ids=["lists", "tables", "digits", "parts"],
)
def test_toml_that_pythons_reader_falls_over(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several kinds
        toml.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        'triton; os_name ~= "nt"',
        'triton; "a" in extras',
        "triton; " + "(" * 3000 + 'os_name == "nt"' + ")" * 3000,
    ],
    ids=["no order", "no variable", "parentheses"],
)
def test_markers_without_a_meaning_do_not_hold(text: str) -> None:
    parsed = read_requirement(text)
    assert parsed is None or not holds(parsed, {"os_name": "nt"})


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "\u00b2"], ids=["400", "5000", "square"])
def test_a_time_that_is_no_number(tmp_path: Path, number: str) -> None:
    log = f"{number}\t1\t0\ta.obj\tb\n0\t2\t0\tb.obj\tb\n"
    (tmp_path / ".ninja_log").write_text(log, "utf-8")
    for name in ("a.obj", "b.obj"):
        (tmp_path / name).touch()
    assert runner.finished(tmp_path) == (tmp_path / "b.obj",)


@pytest.mark.parametrize("way", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_unpacked_whole_is_not_unpacked(tmp_path: Path, way: int) -> None:
    """Python gives all that comes out of a block at once, whatever size the zip tells."""
    file = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w", way) as made:
        made.writestr("a-1.dist-info/METADATA", "Requires-Dist: b\n")
    assert wheel_files.content_of(file).requires is None
    with pytest.raises(archives.ArchiveError, match="has a compression that no wheel"):
        archives.unpack_folder(file, "a-1.dist-info", tmp_path / "out")
