"""Write the JSON Schemas that the package ships, from its records: `python tools/write_schemas.py`.

Run it after changing a record of `facts/model.py`, `problems/model.py` or `output/documents.py`;
`tests/unit/test_schema.py` fails until then.
"""

from __future__ import annotations

import json
from pathlib import Path

from tritonwin.output import schema

FOLDER = Path(schema.__file__).with_name("schemas")


def rendered(name: str) -> str:
    """The text of the schema file for `name`."""
    return json.dumps(schema.generate(name), indent=2, ensure_ascii=True) + "\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in schema.DOCUMENTS:
        (FOLDER / schema.file_name(name)).write_text(rendered(name), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
