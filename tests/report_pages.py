"""HTML reports as a user gets them, for tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path

import healthy

from tritonwin.facts import snapshot
from tritonwin.output import html
from tritonwin.output.proof import of_report, verify_report
from tritonwin.output.view import of_diagnosis
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.system.codec import map_text
from tritonwin.verify import records
from tritonwin.verify.records import Proof, RungResult

SNAPSHOTS = Path(str(resources.files("tritonwin") / "demo" / "snapshots"))
_TRACEBACK = """\
Traceback (most recent call last):
  File "C:\\ComfyUI_windows_portable\\python_embeded\\Lib\\site-packages\\triton\\backends\\nvidia\\compiler.py", line 511, in make_cubin
    raise PTXASError(error)
triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error
"""


def doctor() -> str:
    """The report of doctor on a machine of the demo."""
    facts = map_text(snapshot.read(SNAPSHOTS / "both-tritons.json"), where_users_have_it)
    return html.report(of_diagnosis(facts, diagnose(facts, CHECKS)))


def where_users_have_it(text: str) -> str:
    return re.sub(r"C:\\(?:lane\\env\\\d+|AI)(?=\\)", "C:", text)


def verify() -> str:
    """A ladder with a broken rung, one that was skipped, and proven ones below."""
    rungs = []
    for number, rung in enumerate(records.load().rung):
        state = "passed" if number < 6 else "failed" if number == 6 else "skipped"
        plain = RungResult(
            id=rung.id, title=rung.title, state="passed", detail="seen", seconds=1.3,
            proves=rung.proves, figures={"largest error": 0.0},
        )  # fmt: skip
        if state == "failed":
            plain = replace(
                plain, state="failed", detail="PTXASError: Internal Triton PTX codegen error",
                traceback=_TRACEBACK, problems=("ptxas-older-than-ptx",),
            )  # fmt: skip
        elif state == "skipped":
            plain = replace(
                plain, state="skipped", detail="a rung below it failed", seconds=0.0, figures={}
            )
        rungs.append(plain)
    return html.report(of_report(verify_report(healthy.changed(), Proof(results=tuple(rungs)), 89)))


REPORTS: dict[str, Callable[[], str]] = {"doctor": doctor, "verify": verify}
