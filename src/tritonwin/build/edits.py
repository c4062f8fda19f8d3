"""The changes that a recipe makes to files of a source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tritonwin.build.model import Edit
from tritonwin.build.source_files import SourceError
from tritonwin.system.files import is_file


def edit(folder: Path, edits: Sequence[Edit]) -> None:
    """Make the changes in an unpacked source.

    Raises:
        SourceError: a file or text that has to be changed is not there, or is a link to elsewhere.
    """
    for file in dict.fromkeys(change.file for change in edits):
        refuse_link(folder, file)
        if is_file(folder / file) or any(c.required for c in edits if c.file == file):
            (folder / file).write_bytes(edited_content(folder / file, file, edits))


def edited_content(path: Path, name: str, edits: Sequence[Edit]) -> bytes:
    """The content of a file of the source, with the edits for `name`, line ends as they are."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(
            f"the source has no {name}, which the recipe has to change",
            "It may be of another version: name it with --version",
        ) from None
    for change in edits:
        if change.file != name:
            continue
        find, put = change.find.encode(), change.replace.encode()
        if b"\r\n" in content:
            find, put = find.replace(b"\n", b"\r\n"), put.replace(b"\n", b"\r\n")
        if find not in content and change.required:
            raise SourceError(
                f"{name} does not hold {change.find!r}, which the recipe has to change",
                "It may be of another version: name it with --version",
            )
        content = content.replace(find, put)
    return content


def refuse_link(folder: Path, name: str) -> None:
    """Refuse to change what lies elsewhere: a commit may hold links to anywhere."""
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise SourceError(
            f"the source has a link to elsewhere at {name}, which the recipe has to change",
            "Give a source that has a file or folder there: --source DIR",
        )
