"""A snapshot: facts in a file, redacted, to be examined on another machine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tritonwin.errors import UserError
from tritonwin.facts.records import SCHEMA as FACTS_SCHEMA
from tritonwin.facts.records import Facts
from tritonwin.system.codec import DecodeError, Json, from_json, map_text, parse, to_json
from tritonwin.system.files import encoding_of, refuse_foreign, write_text

if TYPE_CHECKING:
    from tritonwin.facts.redaction.identity import Identity
    from tritonwin.facts.redaction.redactor import Redactor

MAX_BYTES = 32 * 2**20

_MAKE_ANOTHER = "Make a new one on the machine in question: tritonwin snapshot -o FILE"
_NAME = re.compile(r"(tritonwin\.[a-z-]+)/([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The file that `tritonwin snapshot` writes."""

    schema: Literal["tritonwin.snapshot/1"] = "tritonwin.snapshot/1"
    facts: Facts


class SnapshotError(UserError):
    """A file that cannot be used as a snapshot, or may not be written."""


def redacted(facts: Facts, redactor: Redactor) -> Facts:
    """The facts without what names a person or a machine; doctor finds the same problems in them.

    Only free text changes: words that the model fixes (`Literal`) and field names stay.
    """
    variables = tuple(replace(v, value=redactor.variable(v.name, v.value)) for v in facts.variables)
    return map_text(replace(facts, variables=variables), redactor.text)


def write(facts: Facts, path: Path, identity: Identity) -> None:
    """Write `facts`, redacted, to `path`: whole or not at all.

    A file that is there is replaced only if it is a snapshot (of any version) or empty.

    Raises:
        UserError: another file is in the way, or the folder cannot be written.
    """
    text = written(facts, identity)
    refuse_foreign(path, '"schema": "tritonwin.snapshot/')
    write_text(path, text)


def written(facts: Facts, identity: Identity) -> str:
    """The text of a snapshot file: `facts`, redacted."""
    from tritonwin.facts.redaction.redactor import Redactor  # not needed to read one

    tree = to_json(Snapshot(facts=redacted(facts, Redactor(identity))))
    return json.dumps(tree, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read(path: Path) -> Facts:
    """The facts of a snapshot file in UTF-8, or UTF-16 as PowerShell's `>` writes it.

    Raises:
        SnapshotError: missing, unreadable, too large, cut short, not a snapshot, or of a newer
            tritonwin; the message names the file, `help` says what to do.
    """
    tree = _document(path)
    kind, version = _kind(tree, path)
    if kind != "tritonwin.snapshot":
        raise SnapshotError(
            f"{path} is not a snapshot but a document of kind {kind}/{version}", _MAKE_ANOTHER
        )
    inner = tree.get("facts")
    name = inner.get("schema") if isinstance(inner, dict) else None
    facts = _NAME.fullmatch(name) if isinstance(name, str) else None
    if version > 1 or (facts and int(facts[2]) > int(FACTS_SCHEMA.rpartition("/")[2])):
        raise SnapshotError(
            f"{path} was made by a newer tritonwin", "Update this one: pip install -U tritonwin"
        )
    try:
        return from_json(Snapshot, tree).facts
    except DecodeError as error:
        raise SnapshotError(f"{path} is damaged: {error}", _MAKE_ANOTHER) from None


def _kind(tree: dict[str, Json], path: Path) -> tuple[str, int]:
    name = tree.get("schema")
    found = _NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise SnapshotError(f"{path} is JSON, but not a snapshot", _MAKE_ANOTHER)
    return found[1], int(found[2])


def _document(path: Path) -> dict[str, Json]:
    data = _bytes(path)
    try:
        text = data.decode(encoding_of(data))
    except UnicodeDecodeError as error:
        raise SnapshotError(f"{path} is not text (byte {error.start})", _MAKE_ANOTHER) from None
    try:
        tree = parse(text)
    except json.JSONDecodeError as error:
        # the parser reports an unfinished text, or word, where it starts or where it ends
        rest = text[error.pos :].rstrip()
        word = any(whole.startswith(rest) for whole in ("true", "false", "null"))
        unfinished = error.msg.startswith("Unterminated") or word
        if text.lstrip().startswith("{") and unfinished:
            msg = f"{path} is cut short: it ends in the middle, at line {text.count(chr(10)) + 1}"
        else:
            msg = f"{path} is not JSON (line {error.lineno}, column {error.colno})"
        raise SnapshotError(msg, _MAKE_ANOTHER) from None
    except DecodeError as error:
        raise SnapshotError(f"{path} is damaged: {error}", _MAKE_ANOTHER) from None
    if not isinstance(tree, dict):
        raise SnapshotError(f"{path} is JSON, but not a snapshot", _MAKE_ANOTHER)
    return tree


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise SnapshotError(
                f"{path} is a folder", "Name the file that tritonwin snapshot -o FILE wrote."
            )
        if not path.exists():
            raise SnapshotError(f"{path} does not exist", "Check the name and the folder.")
        if not path.is_file():  # a device or a pipe may never end
            raise SnapshotError(f"{path} is not an ordinary file", _MAKE_ANOTHER)
        if path.stat().st_size > MAX_BYTES:
            raise SnapshotError(
                f"{path} is larger than {MAX_BYTES // 2**20} MiB, which no snapshot is",
                _MAKE_ANOTHER,
            )
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a zero character in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SnapshotError(
            f"cannot read {path}: {reason}", "Check the name and the permissions of the file."
        ) from None
