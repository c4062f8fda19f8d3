"""6, TO: triton.tools.build_extern, which makes stubs of a bitcode library."""

from __future__ import annotations

from tritonwin.patch.edits import Source, calls, fixed, replaced, unknown
from tritonwin.patch.engine import edits

_GREP = 'output = subprocess.check_output(["grep", "define", input_file]).decode().splitlines()'
_READ = """\
with open(input_file, encoding="utf-8") as f:  # {marker}
    output = [line for line in f.read().splitlines() if "define" in line]
"""
# spelled in parts: these are the paths that the rule takes out
_FOLDER = "/" + "tmp/"


@edits("extern-grep")
def _grep(source: Source, marker: str) -> str:
    function = source.function("parse_symbols", "Libdevice")
    found = [s for s in function.body if calls(s, "subprocess.check_output")]
    if not found:
        return fixed("it does not call grep")
    if len(found) != 1 or source.segment(found[0]) != _GREP:
        return unknown("grep is called in another form")
    return source.instead(found[0], _READ.format(marker=marker))


@edits("extern-folder")
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
