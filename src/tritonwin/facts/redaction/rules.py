"""What secrets and identifiers look like in text, wherever they stand.

The text may be raw or lie inside JSON, once or twice. Every repetition is bounded or starts at a
place of its own, so that the time stays proportional to the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tritonwin.facts.redaction.paths import PERCENT

TOKEN = "<token>"  # noqa: S105 - what a secret is replaced with


@dataclass(frozen=True)
class Rule:
    """A pattern and what stands in its place."""

    pattern: re.Pattern[str]
    replacement: str


def _rule(pattern: str, replacement: str, flags: int = 0) -> Rule:
    return Rule(re.compile(pattern, flags), replacement)


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
