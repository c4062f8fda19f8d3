"""Logs that were pasted: as one literal of JSON or Python, or with the backslashes lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

LOOKED_AT = 100_000  # characters, the beginning of a log
_OPENS = ('"', "'", "{", "[", 'b"', "b'")
_MANY = 2  # line ends that are spelled out
_DRIVE = re.compile(r"[A-Za-z]:\\(?![\\nrtux\"'])")  # in a literal two backslashes follow
_ESCAPE = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|((?:\\x[0-9a-fA-F]{2})+)|\\(.)", re.DOTALL)
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}

# A path after its drive, or after the dot of the current folder, in which no separator is left.
_GLUED = re.compile(
    r"""(?:(?:(?<![A-Za-z])|(?<=-[IL]))[A-Za-z]:|(?<!\S)\.)(?=[A-Za-z_.])"""
    r"""[^"'<>|*?,:()\[\]\\/\n]{8,300}"""
)
_GLUE = ("Libsite-packages", "AppDataLocal", "embededLib", "embededpython")
# Names that begin a new part of such a path. The part behind the drive stays glued to it: a folder
# that is not known is never made up, and no command can name it.
_PART = re.compile(
    r"""(?<=[\w.)-])(?=
      python_embedd?ed | python\.exe | Scripts(?=python) | Lib(?=site-packages) | site-packages
    | \.?venv(?=Lib|Scripts) | (?:mini|ana)conda | miniforge | mambaforge
    | (?<=conda)include | (?<=forge)include | [Ii]nclude(?=$|cuda\.h) | cuda\.h
    | Users | AppData | Local(?=Temp|Programs) | Roaming | Temp(?=tmp|torchinductor|pip-|\d)
    | triton(?=runtime|backends|_C|compiler|language|knobs|windows_utils|0tmp)
    | (?<=triton)(?:runtime|backends|_C|compiler|language|knobs|windows_utils)
    | (?<=runtime)(?:tcc|build\.py|jit\.py|driver\.py|cache\.py) | (?<=tcc)tcc\.exe
    | (?<=backends)(?:nvidia|amd|intel)
    | (?<=nvidia)(?:driver|compiler)\.py | (?<=amd)(?:driver|compiler)\.py
    | (?<=intel)(?:driver|compiler)\.py
    | (?:cuda_utils|hip_utils|main|__triton_launcher)\.c\b | __init__\.py | _inductor
    | \.triton\b | libbitsandbytes_ | pip-install- | csrc
    ) | (?<=site-packages)(?=\w)
    | (?<=packagessageattention)(?=\w) | (?<=packagessageattn3)(?=\w)
    | (?<=packagesspas_sage_attn)(?=\w) | (?<=packagesflash_attn)(?=[a-z])
    | (?<=packagesxformers)(?=\w) | (?<=packagesbitsandbytes)(?=\w)""",
    re.VERBOSE,
)


def restored(blocks: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """The blocks of a log as the program printed them, and whether its paths had to be guessed."""
    literal = glued = False
    for number, block in enumerate(blocks):
        if number == 0:  # people paste one form; the beginning tells which
            literal = _is_literal(block[:LOOKED_AT])
            glued = any(glue in block for glue in _GLUE)
        text = _ESCAPE.sub(_meaning, block) if literal else block
        yield (_GLUED.sub(_parted, text), True) if glued else (text, False)


def _is_literal(head: str) -> bool:
    """True for a text in which line ends are spelled out, and not just within a line."""
    if not head.lstrip("\ufeff \r\n").startswith(_OPENS):
        return False
    spelled = head.count("\\n")
    return spelled >= _MANY and spelled > 5 * head.count("\n") and not _DRIVE.search(head)


def _meaning(escape: re.Match[str]) -> str:
    if escape[1]:
        units = bytes.fromhex(escape[1].replace("\\u", ""))
        return units.decode("utf-16-be", "replace")
    if escape[2]:
        octets = bytes.fromhex(escape[2].replace("\\x", ""))
        try:
            return octets.decode("utf-8")
        except UnicodeDecodeError:
            return octets.decode("latin-1")
    return _MEANS.get(escape[3], escape[3])


def _parted(path: re.Match[str]) -> str:
    return _PART.sub(r"\\", path[0])
