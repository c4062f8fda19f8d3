"""Logs that were pasted as one literal, or whose paths have lost their backslashes."""

from __future__ import annotations

import json

import pytest

from tritonwin.problems.explain import explain_lines
from tritonwin.problems.explain.pasted import restored

LINES = [
    "Traceback (most recent call last):",
    r'  File "C:\new\triton\Lib\site-packages\triton\runtime\build.py", line 3, in _build',
    'RuntimeError: "größer" \u5f53 \U0001f600',
    "",
]
TEXT = "\n".join(LINES)


@pytest.mark.parametrize(
    "literal",
    [
        json.dumps(TEXT),
        json.dumps({"log": TEXT}, ensure_ascii=False),
        json.dumps([{"a": 1, "log": TEXT}]),
        repr(TEXT),
        repr(TEXT.encode()),
        repr(TEXT.encode("cp1252", "replace")).replace("?", "\u5f53 \U0001f600"),
    ],
)
def test_a_literal_becomes_lines(literal: str) -> None:
    ((text, guessed),) = restored([literal])
    found = text.split("\n")
    start = next(i for i, line in enumerate(found) if "Traceback" in line)
    assert found[start + 1] == LINES[1]
    assert LINES[2].removesuffix(" \u5f53 \U0001f600") in found[start + 2]
    assert not guessed


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        r"{D:\app\new\n\nvidia}",
        "CalledProcessError: output=b'main.c\\r\\nmain.c(3): fatal error\\r\\n'",
        '{"a": "\\n"}',
        "",
    ],
)
def test_what_is_no_literal_stays(text: str) -> None:
    assert list(restored([text])) == [(text, False)]


@pytest.mark.parametrize(
    ("glued", "parted"),
    [
        (
            r"C:ComfyUIpython_embededLibsite-packagestritonruntimebuild.py",
            r"C:ComfyUI\python_embeded\Lib\site-packages\triton\runtime\build.py",
        ),
        (
            r"D:my venvLibsite-packagestorch_inductorx__init__.py",
            r"D:my venv\Lib\site-packages\torch\_inductorx\__init__.py",
        ),
        (".python_embededpython.exe -s main.py", r".\python_embeded\python.exe -s main.py"),
        ("'-IC:toolsminicondainclude', 'x'", r"'-IC:tools\miniconda\include', 'x'"),
    ],
)
def test_lost_backslashes_are_found_before_known_names(glued: str, parted: str) -> None:
    ((text, guessed),) = restored([f"x {glued}\nLibsite-packages"])
    assert guessed
    assert text.split("\n")[0] == f"x {parted}"


def test_what_rests_on_a_guessed_path_is_at_most_likely_and_no_command_names_it() -> None:
    (found,) = explain_lines(
        [
            'File "C:AIComfyUIpython_embededLibsite-packagestritonruntimebuild.py", line 1',
            "error C2872: 'std': ambiguous symbol (compiled_autograd.h)",
        ]
    ).problems
    assert (found.id, found.certainty) == ("msvc-std-ambiguous", "likely")
    assert not [c for c in found.remedy.commands if "AIComfyUI" in c]
