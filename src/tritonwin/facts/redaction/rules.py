"""Patterns of secrets and identifiers in text, and of people's and servers' names in paths.

Text and paths arrive raw, inside JSON (backslashes doubled, or quadrupled where JSON holds JSON),
inside a URL (percent-encoded, perhaps twice) and as Python prints them.
Every repetition is bounded or starts at a
place of its own, so that the time stays proportional to the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PureWindowsPath

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


def last_component(folder: str) -> str:
    """The last name of a path of either kind, "" where there is none."""
    return PureWindowsPath(folder).name


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


TOKEN = "<token>"  # noqa: S105 - what a secret is replaced with


@dataclass(frozen=True)
class RedactionRule:
    """A pattern and what stands in its place."""

    pattern: re.Pattern[str]
    replacement: str


def _rule(pattern: str, replacement: str, flags: int = 0) -> RedactionRule:
    return RedactionRule(re.compile(pattern, flags), replacement)


_UPPER = (
    r"[A-Z0-9_]{0,64}(?:SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)[A-Z0-9_]{0,64}"
    r"|[A-Z0-9_]{0,64}_(?:TOKEN|KEY|PAT|PWD)|TOKEN|APIKEY"
)
_LOWER = (
    r"(?i:(?:[a-z0-9]{1,20}[_-]){0,3}(?:password|passwd|passphrase|secret|api[_-]?key"
    r"|(?:access|auth|api|hf|private|refresh|session|client|github|gitlab)[_-]?(?:token|key)))"
)
# The value of a variable: quoted (perhaps inside JSON), a number, or bare up to a blank.
ASSIGNMENT = re.compile(
    rf"(?<![A-Za-z0-9_])(?P<head>(?:{_UPPER}|{_LOWER})(?![A-Za-z0-9_])"
    r"(?P<middle>\\{0,8}[\"']?[ \t]{0,3}[:=][ \t]{0,3}))"
    r"(?:(?P<nested>\\{1,8}[\"'])(?:(?!\\{0,8}[\"'])[^\r\n])+"
    r"|\"(?P<double>(?:[^\"\\\r\n]|\\.)+)\"|'(?P<single>(?:[^'\\\r\n]|\\.)+)'"
    r"|(?P<number>-?\d[\d.eE+-]{0,400}(?=[\s,}\]]|\Z))"
    r"|(?P<bare>(?![\[{<]|(?:true|false|null|None)\b)(?:[^\s\"'\\]|\\[^\s\"']|'(?=\w)){1,4000}))"
)
# `set` prints a variable a line: the value may hold blanks.
_LINE = (
    r"(?m)^(?P<head>[ \t]{0,8}(?:set |export |SET )?[A-Z0-9_]{0,64}"
    r"(?:(?:SECRET|PASSWORD)[A-Z0-9_]{0,64}|PASSWD|PASSPHRASE|_TOKEN|_KEY|_PAT|_PWD)=)"
    r"[^\s\"'<\\][^\"'\r\n\\<>]*$"
)
# The name of a field or variable that holds a secret, whatever its case.
SECRET_NAME = re.compile(
    r"[\w.-]*(?:token|secret|password|passwd|passphrase|credentials?|api_?key|[_-](?:key|pat|pwd))"
    r"|[A-Z0-9_]*(?:SECRET|PASSWORD)[A-Z0-9_]*",
    re.IGNORECASE,
)

_SCHEME = r"(?:Bearer|Basic|Token|Digest|Negotiate) {1,3}"
_HEADER = (
    r"(?P<head>(?<![\w-])(?:(?:Proxy-)?Authorization|(?:Set-)?Cookie|X-(?:Api|Auth)-(?:Key|Token))"
    r"\\{0,8}[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\{0,8}[\"']?)"
    rf"(?!(?:{_SCHEME})?<)(?P<scheme>{_SCHEME})?(?:[^\s\"'\\<]|\\[^\s\"'])"
    r"(?:[^\r\n\"'\\]|\\[^\r\n\"'])*"
)
_QUERY_NAME = (
    r"(?:[a-z0-9]{1,20}[_-]){0,3}(?:token|api_?key|key|sig|signature|credential|password|passwd|pwd"
    r"|secret|auth|authorization|code|sas)"
)
# The shapes that well-known services give their tokens.
_SHAPES = (
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}|gh[opusr]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-(?=[\w-]{0,60}\d)[\w-]{16,}|pypi-A[\w-]{16,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])|xox[abeprs]-[\w-]{10,}|AIza[\w-]{30,}"
    r"|npm_[A-Za-z0-9]{30,}|nvapi-[\w-]{20,}|r8_[A-Za-z0-9]{30,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)

SECRETS = (
    _rule(_LINE, rf"\g<head>{TOKEN}"),
    # user and password, or a token, before the host of a URL
    _rule(
        r"(?P<head>(?<![A-Za-z0-9])[a-z][a-z0-9+.-]{0,30}:(?:\\?/){2})"
        r"(?!git@|<token>@)(?:[^\s/@\"'<>\\]{1,1000}@){1,4}",
        rf"\g<head>{TOKEN}@",
        re.IGNORECASE,
    ),
    _rule(
        rf"(?P<head>(?<![A-Za-z0-9])[a-z][a-z0-9+.-]{{0,30}}{PERCENT}3A(?:{PERCENT}2F){{2}})"
        rf"(?:[\w.!~*-]|%(?!(?:25){{0,3}}(?:2F|3F|23|40))){{1,1000}}(?P<at>{PERCENT}40)",
        rf"\g<head>{TOKEN}\g<at>",
        re.IGNORECASE,
    ),
    _rule(
        rf"(?P<head>(?:[?&]|&amp;|{PERCENT}(?:3F|26)){_QUERY_NAME}(?:=|{PERCENT}3D))"
        r"[^&\s\"'#<>\\;]{1,4000}",
        rf"\g<head>{TOKEN}",
        re.IGNORECASE,
    ),
    _rule(_HEADER, rf"\g<head>\g<scheme>{TOKEN}", re.IGNORECASE),
    _rule(r"(?P<head>\b[Bb]earer )[\w.~+/=-]{12,}", rf"\g<head>{TOKEN}"),
    _rule(
        r"(?P<head>(?<!\S)--?(?:[a-z]{1,20}-){0,3}(?:token|password|passwd|secret|api-?key)[= ])"
        r"[^\s\"'<\\-][^\s\"'\\]*",
        rf"\g<head>{TOKEN}",
    ),
    _rule(_SHAPES, TOKEN),
)

_PAIR = r"[0-9A-Fa-f]{2}"
_SERIAL = r"(?P<head>\bserial(?:[ _-]?(?:number|no))?"
IDENTIFIERS = (
    _rule(
        r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])",
        "<email>",
    ),
    _rule(r"\bS-1-5-21(?:-\d{1,10}){3,4}\b", "<sid>"),
    _rule(rf"(?<![\w:-]){_PAIR}([:-]){_PAIR}(?:\1{_PAIR}){{4}}(?![\w:-])", "<mac>"),
    _rule(
        rf"{_SERIAL}\\{{0,8}}[\"']?\s{{0,20}}[:=]\s{{0,3}}\\{{0,8}}[\"'])[\w-]{{3,64}}",
        r"\g<head><serial>",
        re.IGNORECASE,
    ),
    # a number in JSON must stay one
    _rule(rf"{_SERIAL}\\{{0,8}}\"\s{{0,20}}:\s{{0,3}})\d{{2,64}}", r"\g<head>0", re.IGNORECASE),
    _rule(
        rf"{_SERIAL}\s{{0,40}}[:=]\s{{0,3}})(?=[A-Z-]{{0,64}}\d)[A-Z0-9-]{{1,64}}",
        r"\g<head><serial>",
        re.IGNORECASE,
    ),
    # the folder of a company's OneDrive carries the company's name
    _rule(
        r"(?P<head>\bOneDrive - )"
        r"(?:[^\\/<>:\"|?*\r\n;']|\\{1,4}u[0-9a-f]{4}){1,80}(?=[\\/\"';]|\Z)",
        r"\g<head><organisation>",
        re.IGNORECASE,
    ),
)

# CUDA_VISIBLE_DEVICES accepts the beginning of a device's UUID.
UUID = re.compile(
    r"(?<![0-9a-f])(?P<device>(?:GPU|MIG)-)?(?P<first>[0-9a-f]{8})"
    r"(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?(device)(?:-[0-9a-f]{1,12}){0,4}|(?!)))(?![0-9a-z-])",
    re.IGNORECASE,
)
# Classes of devices in the registry are named alike on every machine.
PUBLIC_UUIDS = frozenset({"4d36e968"})

# What the variables of an account hold.
ACCOUNT_VARIABLES = {
    "USERNAME": "user",
    "USER": "user",
    "LOGNAME": "user",
    "LNAME": "user",
    "SUDO_USER": "user",
    "COMPUTERNAME": "host",
    "HOSTNAME": "host",
    "LOGONSERVER": "host",
    "USERDOMAIN": "domain",
    "USERDOMAIN_ROAMINGPROFILE": "domain",
    "USERDNSDOMAIN": "domain",
}
_WORD = r"(?:[^\s\"'<>\\;%$=]|\\{1,4}u[0-9a-fA-F]{4}|'(?=\w)){1,255}"
ACCOUNT = re.compile(
    rf"(?<![A-Za-z0-9_])(?P<key>{'|'.join(sorted(ACCOUNT_VARIABLES, key=len, reverse=True))})"
    r"(?:=|\\{0,8}[\"'][ ]{0,3}[:=][ ]{0,3}\\{0,8}[\"']|[ ]{0,3}=[ ]{0,3}[\"'])"
    # LOGONSERVER starts like a share
    r"(?:\\{2,8}(?!u[0-9a-fA-F]{4}))?"
    rf"(?P<name>{_WORD}(?:(?: {_WORD}){{1,3}}(?=[\r\n\"']|\\{{1,8}}[\"']|\Z))?)"
)

# What a computer or a person may be called but means something else almost everywhere, the words
# of our own marks among them: replaced only where a host must stand (\\\\HOST\\, user@host,
# host.domain) or a person (below a folder of people's).
_WORDS = """
    admin alpha app apps beta bin build cache client code comfyui computer conda cuda data
    default desktop dev development dll driver embedded environment error file files fork game
    gaming gpu home include install kernel laptop lib library linux local localhost machine main
    model module network node none nvidia office package path pc personal pip portable private
    program project public python release script sdk server service site source store studio
    system temp test tool tools torch torchao torchvision triton unknown upstream venv version
    win windows work workstation xformers accelerate bitsandbytes diffusers numpy sageattention
    setuptools transformers triton-windows unsloth wheel amd intel clang gcc zig nvcc ptxas not
    found user users host domain token uuid email sid mac serial organisation
    tmp var usr etc opt mnt media srv run workspace workspaces work content github runner docker
    jenkins appdata locallow roaming microsoft documents downloads profiles windows.old desktop.old
    share scripts dlls libs site-packages dist-packages backends utils auxiliary msvc hostx64
    bin64 lib64 profile homes comfy custom_nodes models checkpoints ops compiler common flash_attn
    flash-attn sglang vllm nodes tritonwin patch triton_kernels
    runtime language testing config experimental command core functions nvidia lora loras input
    output
"""
ORDINARY_WORDS = frozenset(_WORDS.split())
