from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.facts.windows_view import c_view, python_view, windows_view


def kept(view: str) -> str:
    """The lines of the examples are single letters; those that are left."""
    return "".join(re.findall(r"\b[A-D]\b", view))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#ifdef _WIN32\nA\n#else\nB\n#endif\nC", "AC"),
        ("#ifndef _WIN32\nA\n#else\nB\n#endif\nC", "BC"),
        ("#if defined(_WIN32)\nA\n#else\nB\n#endif", "A"),
        ("#if !defined(_WIN32)\nA\n#endif\nB", "B"),
        ("# if ! defined _WIN32\nA\n# endif\nB", "B"),
        ("#if defined(__linux__)\nA\n#elif defined(_WIN32)\nB\n#else\nC\n#endif", "B"),
        ("#ifdef _WIN32\nA\n#elif defined(X)\nB\n#endif", "A"),
        ("#if CUDA_VERSION > 3\nA\n#else\nB\n#endif", "AB"),
        ("#if CUDA_VERSION > 3\nA\n#elif defined(__APPLE__)\nB\n#else\nC\n#endif", "AC"),
        ("#ifndef _WIN32\n#if X\nA\n#else\nB\n#endif\nC\n#endif\nD", "D"),
        ("#ifndef GUARD_H\n#ifdef _WIN32\nA\n#endif\nB\n#endif", "AB"),
        ("#endif\n#else\nA", "A"),
        ("#ifndef _WIN32\nA", ""),
        ("#ifdef\nA\n#endif", "A"),
    ],
)
def test_c_for_windows(text: str, words: str) -> None:
    view = c_view(text)

    assert kept(view) == words
    assert view.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("if os.name == 'nt':\n  A\nelse:\n  B\nC", "AC"),
        ("if os.name != 'nt':\n  A\nelse:\n  B", "B"),
        ("if sys.platform == 'win32':\n  A\nelif x:\n  B\nelse:\n  C", "A"),
        ("if x:\n  A\nelif os.name == 'nt':\n  B\nelse:\n  C", "AB"),
        ("if platform.system() == 'Windows':\n  A\nelse:\n  B", "A"),
        ("if platform.system() == 'Linux':\n  A\nelse:\n  B", "B"),
        ("if sys.platform.startswith('win'):\n  A\nelse:\n  B", "A"),
        ("if sys.platform.startswith('linux'):\n  A\nelse:\n  B", "B"),
        ("if not _is_windows():\n  A\nelse:\n  B", "B"),
        ("if os.name == 'nt' and x:\n  A\nelse:\n  B", "AB"),
        ("if os.name != 'nt' and x:\n  A\nelse:\n  B", "B"),
        ("if os.name == 'nt' or x:\n  A\nelse:\n  B", "A"),
        ("if os.name == y:\n  A\nelse:\n  B", "AB"),
        ("if os.name > 'nt':\n  A\nelse:\n  B", "AB"),
        ("def f():\n  if os.name == 'nt':\n    return A\n  B\nC", "AC"),
        ("def f():\n  if os.name != 'nt':\n    return A\n  B", "B"),
        ("def f():\n  if x:\n    return A\n  B", "AB"),
        ("def f():\n  with x:\n    if os.name == 'nt':\n      raise A\n    B\n  C", "AC"),
        ("try:\n  if os.name == 'nt': A\n  else: B\nexcept x:\n  C", "AC"),
        ("x = (A) if os.name == 'nt' else (B)", "A"),
        ("y = f((A) if os.name != 'nt' else (B), C)", "BC"),
        ("# A\nB  # kept\n", "B"),
    ],
)
def test_python_for_windows(text: str, words: str) -> None:
    view = python_view(text)

    assert kept(view) == words
    assert view.count("\n") == text.count("\n")


def test_c_inside_a_string_is_treated_as_c() -> None:
    text = 'src = f"""\n#ifndef _WIN32\n#include <dlfcn.h>\n#endif\n#include <Python.h>\n{x}\n"""\n'

    view = python_view(text)

    assert "dlfcn.h" not in view
    assert "Python.h" in view


def test_a_comment_line_inside_a_string_is_kept() -> None:
    assert "# A" in python_view('x = """\n# A\n"""\n# B\n')


def test_python_that_does_not_parse_is_given_back() -> None:
    text = "if os.name == 'nt':\n"

    assert windows_view("runtime/build.py", text) == text


@given(
    st.lists(
        st.sampled_from(
            [
                "#ifdef _WIN32",
                "#ifndef _WIN32",
                "#if X",
                "#elif defined(_WIN32)",
                "#else",
                "#endif",
                "é",
            ]
        )
    )
)
def test_no_order_of_directives_breaks_the_view(lines: list[str]) -> None:
    text = "\n".join(lines)

    view = c_view(text)

    assert len(view.split("\n")) == len(text.split("\n"))
    assert all(
        new in (old, "") for old, new in zip(text.split("\n"), view.split("\n"), strict=True)
    )


@given(st.text(alphabet="aé\r\n #'\"():=\\\tif", max_size=40))
def test_no_text_breaks_the_view_of_python(text: str) -> None:
    assert isinstance(windows_view("x.py", text), str)
