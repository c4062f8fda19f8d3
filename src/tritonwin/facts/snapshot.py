"""A snapshot: facts in a file, redacted, to be examined on another machine."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.system.codec import from_json, map_text, parse, to_json
from tritonwin.system.files import encoding_of, read_bytes, refuse_foreign, write_text

if TYPE_CHECKING:
    from tritonwin.facts.redaction.identity import Identity
    from tritonwin.facts.redaction.redactor import Redactor

MAX_BYTES = 32 * 2**20

_MAKE_ANOTHER = (
    "Make a new one on the machine in question: tritonwin snapshot -o FILE. One of a newer "
    "tritonwin needs that here as well: pip install -U tritonwin"
)


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
    data = read_bytes(path, MAX_BYTES)
    if data is None:
        wrong = f"may not be read, or is no ordinary file of at most {MAX_BYTES // 2**20} MiB"
        reason = wrong if os.path.lexists(path) else "does not exist"
        raise SnapshotError(
            f"{path} {reason}", "Check the name, the folder and the permissions of the file."
        )
    try:
        return from_json(Snapshot, parse(data.decode(encoding_of(data)))).facts
    except ValueError as error:
        raise SnapshotError(
            f"{path} is no snapshot that this tritonwin reads: {error}", _MAKE_ANOTHER
        ) from None
