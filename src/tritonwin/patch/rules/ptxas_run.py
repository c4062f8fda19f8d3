"""SH, T2: how make_cubin starts ptxas and where what it prints goes."""

from __future__ import annotations

import ast

from tritonwin.patch.edits import Source, absent, calls, fixed, unknown
from tritonwin.patch.model import Rule

_COMPILER = "backends/nvidia/compiler.py"
_REDIRECTED = "2> {flog.name}'"
_ARGUMENTS = """\
if os.name == "nt":  # {marker}
    level = ['--opt-level', '0'] if os.environ.get("DISABLE_PTXAS_OPT", "0") == "1" else []
    arch = f'--gpu-name=sm_{{capability}}{{suffix}}'.strip()
    options = [*line_info.split(), *fmad.split(), '-v', *level, arch]
    ptxas_cmd = [ptxas, *options, fsrc.name, '-o', fbin]
    subprocess.run(ptxas_cmd, check=True, stdout=flog, stderr=flog)
else:
    {run}
"""


def _edit_shell(source: Source) -> str:
    function = source.function("make_cubin")
    if function is None:
        return absent("there is no make_cubin")
    found = [c for c in calls(function, "subprocess.run") if "shell=True" in source.segment(c)]
    if not found:
        return fixed("ptxas is started without a shell")
    statement = next(
        (n for n in ast.walk(function) if isinstance(n, ast.Expr) and n.value is found[0]), None
    )
    if len(found) != 1 or statement is None or source.segment(function).count(_REDIRECTED) != 2:
        return unknown("the shell command of ptxas has another form")
    text = _ARGUMENTS.format(marker=SHELL.marker, run=source.segment(statement))
    return source.instead(statement, text)


def _edit_output(source: Source) -> str:
    function = source.function("make_cubin")
    if function is None:
        return absent("there is no make_cubin")
    runs = calls(function, "subprocess.run")
    for run in runs:
        named = {keyword.arg: keyword.value for keyword in run.keywords}
        if "shell" in named:
            return absent("ptxas is started through a shell")
        if "stdout" in named:
            return fixed("all that ptxas prints goes to its log")
        inherits, log = named.get("close_fds"), named.get("stderr")
        if inherits is None or log is None or ast.unparse(inherits) != "False":
            return unknown("ptxas is started in another form")
        at = source.span(log)
        stdout = f'{ast.unparse(log)}, stdout=flog if os.name == "nt" else None'
        return source.spliced(
            (*source.span(inherits), 'os.name == "nt"'),
            (*at, stdout),
            source.marked(run.end_lineno or run.lineno, OUTPUT.marker),
        )
    return unknown("make_cubin starts nothing")


SHELL = Rule(
    id="ptxas-shell",
    defect="SH",
    file=_COMPILER,
    need="jit",
    backend="nvidia",
    why="Triton 3.0 and 3.1 start ptxas as one line for a shell, which redirects its messages into "
    "a file that Python holds open, and breaks at every blank in a path. On Windows ptxas is "
    "started directly, with a list of arguments.",
    removes="The process cannot access the file because it is being used by another process; "
    "then FileNotFoundError: ...ptx.o",
    edit=_edit_shell,
)

OUTPUT = Rule(
    id="ptxas-output",
    defect="T2",
    file=_COMPILER,
    need="robust",
    backend="nvidia",
    why="Only what ptxas writes to its error stream goes to the log, but what -v says comes on the "
    "other one and runs through the console. ptxas also inherits every open file of the program, "
    "which then cannot be removed until it ends.",
    removes="lines that begin with 'ptxas info' in the output of every program",
    edit=_edit_output,
)
