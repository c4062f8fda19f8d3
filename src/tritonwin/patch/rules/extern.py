"""6, TO: triton.tools.build_extern, which makes stubs of a bitcode library."""

from __future__ import annotations

from tritonwin.patch.edits import Source, calls, fixed, replaced, unknown
from tritonwin.patch.engine import rule

_FILE = "tools/build_extern.py"
_GREP = 'output = subprocess.check_output(["grep", "define", input_file]).decode().splitlines()'
_READ = """\
with open(input_file, encoding="utf-8") as f:  # {marker}
    output = [line for line in f.read().splitlines() if "define" in line]
"""
# spelled in parts: these are the paths that the rule takes out
_FOLDER = "/" + "tmp/"


@rule(
    "extern-grep",
    defect="6",
    file=_FILE,
    need="tools",
    why="triton.tools.build_extern runs grep to pick lines of a text file. The lines are picked in "
    "Python.",
    removes="FileNotFoundError: [WinError 2] The system cannot find the file specified (grep)",
)
def _grep(source: Source, marker: str) -> str:
    function = source.function("parse_symbols", "Libdevice")
    found = [s for s in function.body if calls(s, "subprocess.check_output")]
    if not found:
        return fixed("it does not call grep")
    if len(found) != 1 or source.segment(found[0]) != _GREP:
        return unknown("grep is called in another form")
    return source.instead(found[0], _READ.format(marker=marker))


@rule(
    "extern-folder",
    defect="TO",
    file=_FILE,
    need="tools",
    why="The same tool writes into the folder for temporary files of Linux, by name.",
    removes="FileNotFoundError: [Errno 2] No such file or directory: 'extern_lib.ll' in the root "
    "of the drive",
)
def _folder(source: Source, marker: str) -> str:
    text = source.text
    if f'"{_FOLDER}' not in text:
        return fixed("it asks for the folder of temporary files")
    text = replaced(
        text,
        "import argparse\nimport subprocess\n",
        f"import argparse\nimport os\nimport subprocess\nimport tempfile  # {marker}\n",
    )
    text = replaced(
        text,
        f'"{_FOLDER}extern_lib.ll"',
        'os.path.join(tempfile.gettempdir(), "extern_lib.ll")',
    )
    return replaced(text, f'default="{_FOLDER}"', "default=tempfile.gettempdir()")
