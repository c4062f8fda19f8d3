#!/usr/bin/env python3
"""Build the documentation site: pages of docs/ and pages that follow from data, in build/site.

    python tools/build_site.py               in `.venv-docs`, which it makes
    python tools/build_site.py --pages       only put the pages together, in build/docs

Links to files outside of docs/ lead to the page that stands for them or become plain text. mkdocs
runs in strict mode, and the result must load nothing from elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import dev
import site_pages

from tritonwin.system import toml

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BUILD = ROOT / "build"
SECONDS = 600

# files of the checkout that are pages of the site as well
_STANDS_FOR = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
_TABLE = re.compile(r"^<!-- table: (\w+) -->$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
# a code span, or a link, which is left as it is
_SPAN = re.compile(r"\[[^\]]*\]\([^)]*\)|`(?P<span>[^`]+)`")
_FROM_ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe|link(?![^>]*rel=["']?canonical))\b[^>]*\b(?:src|href)=["']?https?:[^>]*>"""
)


def site() -> dict[str, Any]:
    """docs/site.toml."""
    return toml.loads((DOCS / "site.toml").read_text("utf-8"))


def pages() -> dict[str, str]:
    """All Markdown pages by their paths below the site's folder."""
    written = site_pages.pages(site())
    tables = site_pages.tables(site())
    sources = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md")}
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        sources[_STANDS_FOR[name]] = ROOT / name
    taken = sources.keys() & written.keys()
    if taken:
        sys.exit(f"docs/{min(taken)} stands in the place of a page that is written from data")
    ids = _named(sources.keys() | written.keys())
    for page, path in sources.items():
        text = _TABLE.sub(lambda found: tables[found[1]], _relinked(page, path))
        written[page] = text
    return {page: linked_names(page, text, ids) for page, text in written.items()}


def _named(names: Iterable[str]) -> dict[str, str]:
    """The names that a code span may contain, each with the page about it."""
    found: dict[str, str] = {}
    for name in names:
        path = PurePosixPath(name)
        if path.parent.name == "problems":
            found |= {f"{kind}{path.stem}": name for kind in ("", "check:", "signature:")}
        if path.parent.name == "patch":
            found[f"rule:{path.stem}"] = name
    return found


def linked_names(page: str, text: str, ids: Mapping[str, str]) -> str:
    """A page whose code spans lead to the pages about what they name: `python-unsupported`."""
    here = PurePosixPath(page).parent

    def span(found: re.Match[str]) -> str:
        about = ids.get(found["span"] or "")
        return f"[{found[0]}]({_relative(about, here)})" if about not in (None, page) else found[0]

    lines = []
    fenced = False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        plain = not fenced and not line.startswith(("#", "    "))
        lines.append(_SPAN.sub(span, line) if plain else line)
    return "\n".join(lines)


def _relative(page: str, folder: PurePosixPath) -> str:
    return os.path.relpath(page, folder).replace(os.sep, "/")


def _relinked(page: str, path: Path) -> str:
    """A page with its links as they must be in the site."""

    def link(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        file, mark, anchor = target.partition("#")
        if not file or ":" in file:
            return found[0]
        there = Path(os.path.normpath(path.parent / file))
        if there.is_relative_to(DOCS):
            new = there.relative_to(DOCS).as_posix()
        else:
            name = there.relative_to(ROOT).as_posix()
            if name not in _STANDS_FOR:
                return text
            new = _STANDS_FOR[name]
            if name == "README.md":  # its headings are not those of the first page
                mark = anchor = ""
        return f"[{text}]({_relative(new, PurePosixPath(page).parent)}{mark}{anchor})"

    return _LINK.sub(link, path.read_text("utf-8"))


def navigation(names: Sequence[str], sections: Sequence[Mapping[str, Any]]) -> list[Any]:
    """mkdocs' `nav`: the sections in their order, and behind them what none of them names.

    A section's pages may be a section again. Exits where one names a page that is not there.
    """
    left = dict.fromkeys(names)

    def section(listed: Mapping[str, Any]) -> dict[str, list[Any]]:
        inside: list[Any] = []
        for wanted in listed["pages"]:
            if not isinstance(wanted, str):
                inside.append(section(wanted))
                continue
            found = list(_matching(wanted, left))
            if not found:
                sys.exit(f"docs/site.toml: {listed['title']}: there is no {wanted}")
            for name in found:
                del left[name]
            inside += found
        return {listed["title"]: inside}

    nav: list[Any] = [section(listed) for listed in sections]
    return [*nav, {"More": sorted(left)}] if left else nav


def _matching(wanted: str, names: Mapping[str, object]) -> Iterator[str]:
    """The page of that name, or all pages of a folder, its index first."""
    inside = [n for n in names if n == wanted or (wanted.endswith("/") and n.startswith(wanted))]
    return iter(sorted(inside, key=lambda n: (PurePosixPath(n).stem not in ("index", "README"), n)))


def assemble() -> Path:
    """Write build/docs and the configuration; the path of the latter."""
    shutil.rmtree(BUILD / "docs", ignore_errors=True)
    written = pages()
    for name, text in written.items():
        path = BUILD / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    for path in DOCS.rglob("*"):
        if path.suffix in (".svg", ".png", ".js", ".css"):
            to = BUILD / "docs" / path.relative_to(DOCS)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
    configuration = BUILD / "mkdocs.yml"
    settings = {
        "INHERIT": "../mkdocs.yml",
        "docs_dir": "docs",
        "site_dir": "site",
        "nav": navigation(list(written), site()["section"]),
    }
    # JSON is YAML
    configuration.write_text(json.dumps(settings, indent=1), encoding="utf-8")
    return configuration


def from_elsewhere(folder: Path) -> Iterator[str]:
    """Tags that would load something from the network, with their pages."""
    for path in sorted(folder.rglob("*.html")):
        for tag in _FROM_ELSEWHERE.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(folder).as_posix()}: {tag}"


def main(args: Sequence[str]) -> int:
    if set(args) - {"--pages"}:
        print(__doc__)
        return 2
    configuration = assemble()
    if "--pages" in args:
        return 0
    if Path(sys.prefix) != dev.DOCS.folder:  # it cannot be made while it runs
        dev.DOCS.make()
    command = [str(dev.DOCS.python), "-m", "mkdocs", "build", "--strict", "-f"]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, str(configuration)], check=False, timeout=SECONDS, cwd=ROOT, env=quiet
    )
    if done.returncode:
        return 1
    loaded = list(from_elsewhere(BUILD / "site"))
    print("\n".join(loaded) or f"{BUILD / 'site' / 'index.html'}")
    return int(bool(loaded))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
