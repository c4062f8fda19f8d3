"""Commands that call pip, where the Python has none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from healthy import TARGET, changed, without

from tritonwin.facts.records import Facts, Interpreter
from tritonwin.problems.advice import _typed
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose

PYTHON = r'"C:\my project\.venv\Scripts\python.exe"'
COMMANDS = (
    f"{PYTHON} -m pip uninstall -y triton",
    f'{PYTHON} -m pip install -U "triton-windows<3.9"',
    "tritonwin verify",
)
UV = replace(TARGET, kind="venv", managers=("uv",), has_pip=False)


def adapted(target: Interpreter | None, *commands: str) -> tuple[str, ...]:
    return _typed(commands, {"python": PYTHON}, target)


def test_uv_installs_from_outside() -> None:
    assert adapted(UV, *COMMANDS, f"{PYTHON} -m pip list") == (
        f"uv pip uninstall --python {PYTHON} triton",
        f'uv pip install --python {PYTHON} -U "triton-windows<3.9"',
        "tritonwin verify",
        f"uv pip list --python {PYTHON}",
    )


def test_what_uv_has_no_word_for_is_left_out() -> None:
    assert len(adapted(UV, f"{PYTHON} -m pip --version", COMMANDS[1])) == 1


@pytest.mark.parametrize("kind", ["venv", "user"])
def test_another_environment_gets_its_pip_first(kind: str) -> None:
    found = adapted(replace(TARGET, kind=kind, has_pip=False), *COMMANDS)  # type: ignore[arg-type]
    assert found == (f"{PYTHON} -m ensurepip", *COMMANDS)


def test_an_embedded_python_has_nothing_to_get_it_from() -> None:
    found = adapted(replace(TARGET, kind="embedded", has_pip=False), *COMMANDS)
    assert found == ()


@pytest.mark.parametrize("target", [None, TARGET, replace(TARGET, has_pip=None)])
def test_commands_stay_where_there_is_pip_or_nothing_is_known(target: Interpreter | None) -> None:
    assert adapted(target, *COMMANDS) == COMMANDS


def test_commands_without_pip_stay() -> None:
    assert adapted(UV, "tritonwin verify") == ("tritonwin verify",)


def test_doctor_gives_them() -> None:
    facts: Facts = changed(target=UV, triton=None, distributions=without("triton-windows"))
    found = next(p for p in diagnose(facts, CHECKS).problems if p.id == "triton-missing")
    assert found.remedy.commands[0].startswith(f"uv pip install --python {UV.executable} ")
