"""Run one rung in the Python that runs this file; print how it ended as one JSON object.

Started by `tritonwin.verify.ladder` as `python -B probe_runner.py COOKIE PROGRAM.py PART ARGUMENTS
watched`, where ARGUMENTS is JSON; with the last word, the end of standard input ends everything.
The answer stands between COOKIE and the reversed COOKIE, so that what Triton and compilers print is
not taken for it. PART is a function of the program, with the arguments or without, that returns
what it saw, alone or with a dictionary of figures, or raises. Standard library only, valid on
Python 3.8 and later.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from typing import Any

ERROR_LENGTH = 4000


class NotApplicableError(Exception):
    """This machine cannot do it, or does not claim to, as only the rung can see."""


class KnownError(Exception):
    """A failure whose cause the rung knows: `problem` is an id of tritonwin's catalogue."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(text)
        self.problem = problem


def in_python(driver: Any) -> bool:
    """True where tritonwin's driver replaces the module that a backend of Triton would compile."""
    names = ("compile_module_from_src", "compile_module_from_file")
    owners = (getattr(getattr(driver, name, None), "__module__", "") for name in names)
    return any(owner.startswith("_tritonwin_driver") for owner in owners)


def output_of(words: list[str], seconds: float) -> str:
    """The output of a program; RuntimeError where it failed."""
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode:
        name = os.path.splitext(os.path.basename(words[0]))[0]
        code = f"{name} failed with error code {done.returncode}"
        raise RuntimeError(f"{code}: {words[0]}: {said[-2000:]}")
    return said


def load(name: str, path: str) -> Any:
    """The module in a file, imported under a name."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    # where inspect.getsource, which Triton asks for a kernel's text, looks modules up
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def climb(path: str, part: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        prove = getattr(load("tritonwin_rung", path), part)
        seen = prove(arguments) if prove.__code__.co_argcount else prove()
    except NotApplicableError as error:
        return {"state": "not-applicable", "detail": str(error)}
    except KnownError as error:
        text = " ".join(str(error).split())
        return {"state": "failed", "detail": text[:ERROR_LENGTH], "problem": error.problem}
    except BaseException as error:  # noqa: BLE001 - a SystemExit of the target's fails too
        last = " ".join(traceback.format_exception_only(type(error), error)[-1].split())
        trace = traceback.format_exc()
        return {
            "state": "failed",
            "detail": last[:ERROR_LENGTH],
            "traceback": trace[-ERROR_LENGTH:],
        }
    detail, figures = seen if isinstance(seen, tuple) else (seen, {})
    return {"state": "passed", "detail": detail, "figures": figures}


def _end_with_starter() -> None:
    """End, with all that we started, when standard input ends: who started us is gone."""
    pipe = os.dup(0)
    # what a rung starts, or imports, finds nothing to read instead of something to wait for
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def watch() -> None:
        with contextlib.suppress(OSError):
            os.read(pipe, 1)
        if sys.platform != "win32" and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(argv: list[str]) -> None:
    cookie, path, part, arguments = argv[1:5]
    if argv[5:] == ["watched"]:
        _end_with_starter()
    # rungs import this file by its name, for its exceptions
    sys.modules["probe_runner"] = sys.modules["__main__"]
    # an embedded Python leaves out the folder of the script, where the rung's other files are
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # what a rung starts writes to our streams; the answer must not stand in the middle of it
    answer = climb(path, part, json.loads(arguments))
    sys.stdout.flush()
    data = (cookie + json.dumps(answer) + cookie[::-1]).encode("ascii")
    while data:
        data = data[os.write(1, data) :]
    if answer["state"] == "passed":
        os._exit(0)  # torch takes seconds to take itself down; what a failure printed must come out


if __name__ == "__main__":
    main(sys.argv)
