r"""Where the names of people, and of servers, stand in paths.

Paths arrive raw, inside JSON (backslashes doubled, or quadrupled where JSON holds JSON), inside a
URL (percent-encoded, perhaps twice) and as Python prints them. Every repetition is bounded, so
the time stays proportional to the length of the text. All patterns ignore case.
"""

from __future__ import annotations

import re

from tritonwin.facts.redaction.identity import last_component

PERCENT = r"%(?:25){0,3}"
_COLON = rf"(?::|{PERCENT}3A)"
_SEPARATOR = rf"(?:\\{{1,8}}/?|/|{PERCENT}(?:5C|2F))"
# JSON doubles backslashes, once or more; `half` is then what an escape in the name starts with.
_BEFORE_NAME = rf"(?:(?P<half>\\\\\\\\|\\\\|\\)(?P=half)|\\/?|/|{PERCENT}(?:5C|2F))"
# A path starts after nothing, a blank, a quote, a bracket, "=", or a compiler's -I or /L.
_START = r"(?:(?<![^\s\"'=;,(\[|`])|(?<=[\s\"'][-/][A-Za-z]))"

_USERS = rf"(?:Users|Documents(?:[ +]|{PERCENT}20)and(?:[ +]|{PERCENT}20)Settings|DOCUME~\d)"
_SHARES = rf"(?:{_USERS}|homes?\$?|profiles?\$?|userdata\$?)"
_PART = r"[^\s\\/:*?\"<>|%]{1,80}"
_DRIVE = rf"[A-Z]{_COLON}{_SEPARATOR}{{1,2}}"
_ROOTLESS = rf"(?:{_START}|(?<=%))\\{{1,8}}"
_FOLDER = rf"(?!{_SHARES}[\\/%]){_PART}"
_UNC = (
    rf"(?:{_START}(?P<k>\\{{1,4}})(?P=k)(?!\\)(?:[?.](?P=k)UNC(?P=k))?"
    rf"{_PART}(?P=k)(?!\\)(?:{_FOLDER}(?P=k)(?!\\)){{0,3}}"
    rf"|(?:(?<=file:)(?://)?|{_START})//(?!/){_PART}/(?:{_FOLDER}/){{0,3}}"
    rf"|{PERCENT}5C{PERCENT}5C{_PART}{PERCENT}5C(?:{_FOLDER}{PERCENT}5C){{0,3}})"
)
_POSIX = (
    rf"(?:{_START}|(?<=[:@])|(?<=:\\/\\/)|(?<=://)|(?<=%3D)|(?<=%3A)|(?<=%20)|(?<=%22)|(?<=%2F))"
    rf"(?:\\?/|{PERCENT}2F)"
)
_MOUNT = rf"(?:(?:(?:mnt|cygdrive|media){_SEPARATOR})?[a-z]{_SEPARATOR})?"
_PEOPLE = (
    rf"(?:{_DRIVE}{_USERS}|{_ROOTLESS}{_USERS}|{_UNC}{_SHARES}"
    rf"(?:{_SEPARATOR}{_USERS}|(?!{_SEPARATOR}{_USERS}{_SEPARATOR}))"
    # C:\\Windows.old\\Users; in lower case it may be a package
    rf"|(?:(?<=\\)|(?<=%5C))(?-i:Users)|{_POSIX}{_MOUNT}Users"
    rf"|{_POSIX}(?:(?:export|var|usr|data){_SEPARATOR})?home){_BEFORE_NAME}"
)

_ESCAPE = r"(?(half)(?P=half)(?:u[0-9a-f]{4}|x[0-9a-f]{2}|U[0-9a-f]{8})|(?<=[^\\])\\u[0-9a-f]{4})"
_ENCODED_END = rf"{PERCENT}(?:5C|2F|22|3A|3B|3C|3E|7C|0A|0D)"
_CHARACTER = rf"(?:[^\s\\/<>:\"|?*;'%]|(?!{_ENCODED_END})%|{_ESCAPE}|'(?=\w|\\{{1,4}}u))"
_NEXT_WORD = rf"(?<![,)\]}}])[ ](?=[\w(\\]|&[ ]){_CHARACTER}{{1,255}}"
_BARE = (
    r"(?:(?![,()\[\]{}`#\uff0c\u3002\u3001\uff1b\uff1a\u201c\u201d\u2018\u2019\u300d\u300f\uff09])"
    rf"{_CHARACTER}){{1,255}}(?<!\.)"
)
_CLOSED = rf"(?={_SEPARATOR}|[\"`;|]|'(?!\w)|\\{{1,8}}[\"'])"
# Where a known name ends: no letter, digit or combining mark goes on, no escaped one, no ".name".
NAME_END = r"(?![\w~$@+=\u0300-\u036f-])(?!\.\w)(?!\\{1,4}(?:u[0-9a-f]{4}|x[0-9a-f]{2}))"


def below_home_like(known: str) -> re.Pattern[str]:
    """The name below a folder that holds people's folders: group `name`.

    A name may hold blanks where a separator or quote closes it, or where it is known (`known` is a
    pattern); elsewhere it is one word, or prose would be eaten.
    """
    return re.compile(
        rf"{_PEOPLE}(?P<name>{_CHARACTER}{{1,255}}(?:{_NEXT_WORD}){{0,4}}{_CLOSED}"
        rf"|(?:{known}){NAME_END}|{_BARE})",
        re.IGNORECASE,
    )


def whole_text(known: str) -> re.Pattern[str]:
    """A text that is nothing but somebody's folder: the name goes to the end, blanks and all."""
    return re.compile(
        rf"\A(?:\\\\[?.]\\)?{_PEOPLE}(?!(?:{known}){NAME_END})"
        rf"(?P<name>{_CHARACTER}{{1,255}}(?:{_NEXT_WORD}){{0,2}})\Z",
        re.IGNORECASE,
    )


def home(folder: str) -> re.Pattern[str]:
    """A home folder wherever it lies ("D:\\Profiles\\alex"), also by its 8.3 name: group `name`."""
    name = last_component(folder)
    parts = [part for part in re.split(r"[\\/]+", folder) if part][:-1]
    drive = bool(parts) and parts[0].endswith(":")
    head = r"" if drive else rf"(?<![\w.%)>\]-]){_SEPARATOR}{{1,2}}"
    for part in parts:
        is_drive = part.endswith(":")
        head += rf"{part[:-1]}{_COLON}" if is_drive else spellings(part)
        head += rf"{_SEPARATOR}{{1,2}}"
    short = rf"{re.escape(name[:2])}[^\s\\/~]{{0,4}}~\d{{1,4}}(?:\.\w{{0,3}})?"
    return re.compile(rf"{head}(?P<name>{spellings(name)}|{short}){NAME_END}", re.IGNORECASE)


def cache_folder(known: str) -> re.Pattern[str]:
    """Inductor's default cache, `torchinductor_NAME` in the temporary folder: group `name`."""
    word = r"[^\s\\/<>:\"|?*;',)%]{1,255}"
    return re.compile(
        rf"(?:(?<![\w-])|(?<=%5C)|(?<=%2F))torchinductor_(?P<name>(?:{known}){NAME_END}"
        # case matters here: TORCHINDUCTOR_CACHE_DIR is no folder
        rf"|(?<=[\\/FC](?-i:torchinductor_)){word}(?:(?: {word}){{1,3}}(?=[\\/\"]))?)",
        re.IGNORECASE,
    )


def folder_of(known: str) -> re.Pattern[str]:
    """A whole name in a path, wherever the path lies ("/data/alex/ComfyUI"): group `name`.

    `known` must hold no ordinary word, or `site-packages/torch` would be torch's.
    """
    begins = rf"\A(?=(?:{known})[\\/])"
    return re.compile(
        rf"(?:(?<=[\\/])|(?<=%5C)|(?<=%2F)|(?<=%255C)|(?<=%252F)|{begins})"
        rf"(?P<name>{known}){NAME_END}",
        re.IGNORECASE,
    )


# A single backslash after the server and two before it, or each of them doubled: in JSON,
# "\\Lib\\site-packages" is no server but a path without a drive.
SERVER = re.compile(
    rf"{_START}(?:(?P<k>\\{{1,4}})(?P=k)(?!\\)(?:[?.](?P=k)UNC(?P=k)(?!\\))?|(?<=file:)//)"
    r"(?P<name>[\w-][\w.-]{0,80})(?=(?(k)(?P=k)(?!\\)|/)[^\s\\/:*?\"'<>|])",
    re.IGNORECASE,
)


def spellings(name: str) -> str:
    """A pattern for `name` as it is, percent-encoded, and escaped as in JSON or Python."""
    return "".join(_spellings_of(character) for character in name)


def _spellings_of(character: str) -> str:
    forms = [re.escape(character)]
    if not (character.isascii() and character.isalnum()):
        encoded = character.encode("utf-8", "replace")
        forms.append("".join(f"{PERCENT}{byte:02x}" for byte in encoded))
        units = character.encode("utf-16-be", "surrogatepass").hex()
        forms.append("".join(rf"\\{{1,4}}u{units[i : i + 4]}" for i in range(0, len(units), 4)))
        if ord(character) < 256:
            forms.append(rf"\\{{1,4}}x{ord(character):02x}")
    if character == " ":
        forms.append(r"\+")
    return f"(?:{'|'.join(forms)})"
