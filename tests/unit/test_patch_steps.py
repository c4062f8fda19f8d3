"""Every step of patch: what it answers, and what its journals say, held to approved/patch-steps.txt."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import approved
import pytest
from installed import target
from triton_trees import make_tree

from tritonwin.errors import UserError
from tritonwin.facts.patch_record import read_manifest
from tritonwin.journal import Store
from tritonwin.patch import session as sessions
from tritonwin.patch.disk import PatchPlan
from tritonwin.patch.operations import Place
from tritonwin.patch.refusal import Refusal
from tritonwin.patch.session import Outcome, Session

RULES = ("dlfcn", "tool-variables", "temp-files")  # each in a file of its own
KNOBS = "knobs.py"
MINE = "# mine\n"

Step = tuple[str, Callable[[], Outcome]]


def opened(folder: Path, version: str = "3.6.0", *, python: bool = True) -> Session:
    """A Triton of a Python of that folder, with two compiled helper modules."""
    package = make_tree(version, folder / "site")
    caches = tuple(folder / "cache" / name for name in ("one", "two"))
    for cache in caches:
        cache.mkdir(parents=True)
    found = target(folder / "site", executable=str(folder / "python"))
    place = Place(
        package=package,
        target=found.executable if python else str(package),
        store=Store(folder / "data" / "journal"),
        data=folder / "data",
    )
    return Session(
        place=place,
        target=found if python else None,
        helpers=lambda: tuple(cache for cache in caches if cache.is_dir()),
    )


def append(session: Session, file: str, data: bytes = MINE.encode()) -> None:
    path = session.place.package / file
    path.write_bytes(path.read_bytes() + data)


def refused(refusal: Refusal) -> Iterator[str]:
    yield f"  refused {refusal.file}: {refusal.reason}"
    yield f"    released: {refusal.released}"
    yield f"    left {refusal.left}, found {refusal.found}"
    yield f"    fits {', '.join(refusal.fits) or 'none'}"
    yield from (f"    no rule {misfit.rule}: {misfit.reason}" for misfit in refusal.misfits)


def planned(plan: PatchPlan) -> Iterator[str]:
    for edit in plan.edits:
        known = "" if edit.known else ", not known"
        yield f"  edit {edit.source.file}: {', '.join(edit.rules)}{known}"
    for refusal in plan.refused:
        yield from refused(refusal)
    yield from (f"  skipped {misfit.rule}: {misfit.reason}" for misfit in plan.skipped)


def told(outcome: Outcome) -> Iterator[str]:
    yield f"  {outcome.status}{', blocked' if outcome.blocked else ''}, changed: " + (
        ", ".join(outcome.changed) or "nothing"
    )
    if outcome.hook is not None:
        yield f"  hook in {outcome.hook.folder}, {outcome.hook.choice}"
    if outcome.journal:
        yield f"  journal {outcome.journal}"
    if outcome.plan is not None:
        yield from planned(outcome.plan)
    yield from (f"  changed since: {c.place}" for c in outcome.conflicts)
    yield from (f"  note: {note}" for note in outcome.notes)


def kept(session: Session) -> Iterator[str]:
    """The journals and the manifest, where they are another than before the step."""
    place = session.place
    for header in place.store.journals():
        yield f"  kept {header.id}: {header.title}, {header.state}, of {header.target}"
        yield f"    for {place.store.plan(header.id)}"
    manifest = read_manifest(place.data, place.package)
    if manifest is not None:
        yield f"  manifest of {manifest.package}: {', '.join(manifest.journals)}"
        for each in manifest.files:
            yield f"    {each.file} from {each.before} to {each.after}: {', '.join(each.rules)}"


def walked(session: Session, *steps: Step) -> Iterator[str]:
    """What each step answers, and what is kept after it."""
    before: set[str] = set()
    for name, step in steps:
        yield f"- {name}"
        try:
            yield from told(step())
        except UserError as error:
            yield f"  error: {error}"
            yield f"  help: {error.help}"
        now = list(kept(session))
        yield from (line for line in now if line not in before)
        yield from (f"  gone: {line.strip()}" for line in sorted(before - {*now}))
        before = set(now)


def changing(file: str, step: Callable[[], Outcome], session: Session) -> Callable[[], Outcome]:
    """Somebody changes the file first."""

    def act() -> Outcome:
        append(session, file)
        return step()

    return act


def files(folder: Path) -> Iterator[str]:
    session = opened(folder)
    yield from walked(
        session,
        ("status", session.status),
        ("diff", lambda: session.diff(RULES)),
        ("apply one rule", lambda: session.apply(["dlfcn"])),
        ("apply more", lambda: session.apply(["libcuda-name", "aligned-memory", *RULES])),
        ("and again", lambda: session.apply(RULES)),
        ("status", session.status),
        ("a hook beside it", lambda: session.apply(import_time=True)),
        ("revert", session.revert),
        ("revert again", session.revert),
    )


def hook(folder: Path) -> Iterator[str]:
    session = opened(folder)
    yield from walked(
        session,
        ("diff", lambda: session.diff(["dlfcn"], import_time=True)),
        ("apply", lambda: session.apply(["dlfcn"], import_time=True)),
        ("status", session.status),
        ("files beside it", lambda: session.apply(["dlfcn"])),
        ("another hook", lambda: session.apply(allow_unknown=True, import_time=True)),
        ("revert", session.revert),
        ("revert again", session.revert),
    )


def changes_of_others(folder: Path) -> Iterator[str]:
    session = opened(folder)
    yield from walked(
        session,
        ("apply to a changed file", changing(KNOBS, lambda: session.apply(RULES), session)),
        ("its hook", lambda: session.apply(RULES, import_time=True)),
        ("diff", lambda: session.diff(RULES)),
        ("rules of other files", lambda: session.apply(["temp-files", "dlfcn"])),
        ("trust it", lambda: session.apply(RULES, allow_unknown=True)),
        ("change it again", changing(KNOBS, lambda: session.diff(["tool-variables"]), session)),
        ("another rule", changing("backends/nvidia/driver.c", session.diff, session)),
        ("revert", session.revert),
    )


def what_fits_nowhere(folder: Path) -> Iterator[str]:
    session = opened(folder, python=False)
    driver = session.place.package / "backends/nvidia/driver.py"
    text = driver.read_text("utf-8")
    driver.write_text(text.replace("libraries = ['libcuda.so.1']", "libraries = ['mine']"), "utf-8")
    append(session, KNOBS, b"# \xff\n")
    only = ["libcuda-name", "libcuda-folder", "tool-variables"]
    yield from walked(
        session,
        ("diff", lambda: session.diff(only)),
        ("trust it", lambda: session.diff(only, allow_unknown=True)),
        ("only what fits", lambda: session.apply(only[:2], allow_unknown=True)),
        ("a rule of another file", lambda: session.diff(["dlfcn"])),
        ("a hook", lambda: session.apply(["dlfcn"], import_time=True)),
        ("revert", session.revert),
    )


def journals_elsewhere(folder: Path) -> Iterator[str]:
    session = opened(folder)
    session.apply(["dlfcn"])
    data = folder / "other data"
    away = replace(session, place=replace(session.place, store=Store(data / "journal"), data=data))
    yield from walked(away, ("revert of another's", away.revert))
    (journal,) = (j for j in session.place.store.journals() if j.title.startswith("patch"))
    where = session.place.store.folder(journal.id)
    (where / "plan.json").write_text('{"changes": []}')
    yield from walked(session, ("revert of a part", session.revert))
    shutil.rmtree(where)
    yield from walked(session, ("revert of what is not kept", session.revert))


def fork(folder: Path) -> Iterator[str]:
    session = opened(folder, "windows:3.6.0.post26")
    (session.place.package / "_C").mkdir()
    (session.place.package / "_C" / "libtriton.pyd").touch()
    yield from walked(
        session,
        ("status", session.status),
        ("apply", lambda: session.apply(["tool-variables"])),
    )


STORIES = (files, hook, changes_of_others, what_fits_nowhere, journals_elsewhere, fork)


def neutral(text: str, folder: Path) -> str:
    """The same on every machine and of any wording of an edit: journals and contents as numbers."""
    text = text.replace("\\\\", "/").replace("\\", "/").replace(folder.as_posix(), "~")
    for sort, name in (("#", r"\d{6}-\d{6}-\d{6}"), ("content ", "[0-9a-f]{64}")):
        for number, found in enumerate(dict.fromkeys(re.findall(rf"\b{name}\b", text)), 1):
            text = text.replace(found, f"{sort}{number}")
    return text


def test_every_step_is_told_and_kept_in_these_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    parts = []
    for story in STORIES:
        folder = tmp_path / story.__name__
        lines = neutral("\n".join(story(folder)), folder)
        parts.append(f"# {story.__name__.replace('_', ' ')}\n{lines}\n")
    approved.check("patch-steps.txt", "\n".join(parts))


# -- the folder that is named


@pytest.mark.parametrize("named", [".", "site", "site/triton"])
def test_the_folder_of_a_triton_or_the_one_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """An absolute one comes of it: a manifest is found by it from anywhere."""
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    package = make_tree("3.6.0", tmp_path / "site")
    monkeypatch.chdir(package if named == "." else tmp_path)
    place = sessions.of_folder(Path(named)).place
    assert (place.package, place.target) == (package, str(package))
    assert (place.data, place.store.root) == (tmp_path / "home", tmp_path / "home" / "journal")
