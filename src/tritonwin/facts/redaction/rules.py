"""Patterns of secrets, identifiers and names, for text that is decoded (see `reading`).

A named group is what goes, and its name is the kind of mark that comes; other groups begin with
"_". Every repetition is bounded or starts at a place of its own, so that the time stays
proportional to the length of the text.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

KINDS = (
    *("token", "user", "organisation", "host", "domain", "uuid", "email", "sid", "mac"),
    "serial",
)
_Accepts = Callable[[re.Match[str]], bool]


@dataclass(frozen=True)
class RedactionRule:
    """A pattern, and when to look for it at all.

    Attributes:
        gates: texts in lower case, of which a line must hold one; empty: look always.
        accepts: tells which matches count; None: all.
        whole: for a text of one line only.
        times: how often the first gate must be there.
    """

    pattern: re.Pattern[str]
    gates: tuple[str, ...]
    accepts: _Accepts | None = None
    whole: bool = False
    times: int = 0


def _rule(
    pattern: str,
    gates: str,
    accepts: _Accepts | None = None,
    flags: int = re.IGNORECASE,
    *,
    whole: bool = False,
    times: int = 0,
) -> RedactionRule:
    return RedactionRule(re.compile(pattern, flags), tuple(gates.split()), accepts, whole, times)


# -- secrets: by the name that they are given

_VALUE = (
    r"(?:[bruf]{1,2}(?=[\"']))?(?:\"(?:[^\"\\\r\n]|\\.)+(?=\")|'(?:[^'\\\r\n]|\\.)+(?=')"
    r"|(?P<_number>-?\d[\d.eE+-]{0,400}(?=[\s,}\]]|\Z))"
    r"|[\"'](?!['\"<])[^\"'\r\n]{1,4000}"
    r"|(?![\[{<(]|(?:true|false|null|none)\b)(?:[^\s\"'\\;&]|[;&](?!\w{1,40}=)|\\(?![\s\"'nrt])|(?<=\w)'(?=\w)){1,4000})"
)
_CMAKE = "(?:STRING|INTERNAL|FILEPATH|PATH|UNINITIALIZED)="
_TYPE = rf"(?::(?={_CMAKE})[A-Z]+|(?!:{_CMAKE}))"
_WORDS = r"token|key|secrets?|passw(?:or)?d|passphrase|credentials?|pwd|pat|pass|sas"
_ASSIGNMENT = (
    rf"(?P<_word>{_WORDS})(?P<_rest>\d{{0,3}}(?:_[A-Z0-9_]{{0,40}})?){_TYPE}"
    r"(?:(?P<_is>(?P<_quote>[\"']?)\]?[ \t]{0,3}(?:=>|:=|[:=])[ \t]{0,3})"
    r"|[\"'],[ \t]*(?:[\"']value[\"'][ \t]*:[ \t]*)?(?=[bruf]{0,2}[\"'])"
    r"|(?P<_blank>[ \t]{1,3}(?!-)))"
    rf"(?P<token>{_VALUE})"
)
_HEAD = re.compile(r"[A-Za-z0-9_.-]*\Z")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SURE = frozenset({"passwords", "password", "passwd", "passphrase", "secret", "secrets"}) | {
    *("credential", "credentials", "apikey"),
}
_OWNERS_WORDS = """
    access account api auth bearer client deploy github gitlab hf huggingface id login
    master npm personal primary private refresh registry secondary session shared sign
    signing storage subscription user encryption license wandb civitai openai anthropic pypi
"""
_OWNERS = frozenset(_OWNERS_WORDS.split())
# Of these, a key or token is something technical.
_TECHNICAL_WORDS = """
    aot arch autograd autotune backend batch bos build cache cls compile config dict dispatch
    eos event first foreign fxgraph graph group hash image index item kernel last lookup map
    mask max min module new next node num option pad partition platform primary prompt public
    reg row sep sort
    special start state stop sub target tensor triton unexpected unk unknown value vocab code attn
    query cudagraph
"""
_TECHNICAL = frozenset(_TECHNICAL_WORDS.split())


def is_secret_name(name: str, *, looks: bool = False) -> bool:
    """True if what a variable, option or field of that name holds is a secret.

    Args:
        looks: the value looks like a secret, which settles it for a name that could mean either.
    """
    parts = [part.lower() for part in _PART.findall(name) if not part.isdigit()]
    if not parts or parts[-1] in ("file", "path", "dir", "type", "name", "length", "policy"):
        return False
    if not _SURE.isdisjoint(parts) or (parts[-2:] == ["api", "key"]):
        return True
    if parts[-1] not in ("token", "key", "pat", "pwd", "pass", "sas"):
        return False
    if len(parts) == 1:
        return name in ("TOKEN", "--token", "--pat") or (looks and parts[0] != "pass")
    if parts[-2] in _TECHNICAL and parts[0] not in _OWNERS:
        return name.isupper() and parts[-2] != "triton"
    if parts == ["public", "key", "token"]:
        return False
    return looks or name.isupper() or parts[-2] in _OWNERS or parts[-1] == "pwd"


def _assigns(match: re.Match[str]) -> bool:
    text, start = match.string, match.start()
    head = _HEAD.search(text[max(0, start - 64) : start])
    name = (head[0] if head else "") + match["_word"] + match["_rest"]
    begin = start - len(head[0] if head else "")
    before = text[max(0, begin - 2) : begin]
    option = name.startswith("-")
    if before[-1:] in ("?", "&") or name[-1:] == "_":
        return False  # a parameter of an address, which ends at "&"
    if re.match(r"-?D(?=[A-Za-z_])", name) and (option or before[-1:] in ("/", "-")):
        name = re.sub(r"\A-?D", "", name)
        if name in ("PASS", "TOKEN", "KEY"):
            return True
    if match["_blank"] and not option:
        return False
    value = match["token"].strip("\"'")
    if re.match(r"(?:\$[\w{(]|%\w+%|\*+\Z|os\.|[\w.]+\()", value):
        return False
    quoted = match["_quote"] or not match["_is"] or "=" in match["_is"] or option
    looks = bool(re.search(r"\d", value)) and len(value) >= 8 and not re.search(r"[\\(]", value)
    if name.lower() in ("token", "-token", "--token", "_authtoken") and quoted:
        return True
    return is_secret_name(name, looks=looks)


# -- secrets: by their place

_SCHEME = r"(?:(?:Bearer|Basic|Token|Digest|Negotiate) {1,3})?"
_HEADER = (
    r"(?<![\w-])(?:(?:Proxy-)?Authorization|(?:Set-)?Cookie|X-(?:Api|Auth)-(?:Key|Token)"
    r"|(?:Private|Job|Deploy)-Token|Ocp-Apim-Subscription-Key)"
    rf"[\"']?[ \t]{{0,3}}[:=,][ \t]{{0,3}}(?:[bru]{{1,2}}(?=[\"']))?[\"']?(?!{_SCHEME}<){_SCHEME}"
    r"(?P<token>(?:[^\s\"'\\<]|\\(?![\"'\s]))(?:[^\r\n\"'\\]|\\(?![\"'\r\n]))*)"
)
_PARAMETERS_WORDS = """
    policy key-pair-id signature sig sas code auth authorization hmac jwt key apikey api_key
    api-key token pwd password googleaccessid credential hdnts
"""
_PARAMETERS = frozenset(_PARAMETERS_WORDS.split())


def _is_parameter(match: re.Match[str]) -> bool:
    name = match["_key"].lower()
    amazon = name.startswith(("x-amz-", "x-goog-")) and name.endswith(
        ("credential", "signature", "token")
    )
    return name in _PARAMETERS or amazon or is_secret_name(match["_key"])


def looks_random(text: str) -> bool:
    """True if letters, digits and cases alternate as they do in no word."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in text if c.isalnum()]
    if len(kinds) < 16 or len(set(kinds)) < 2 or "d" not in kinds:
        return False
    changes = sum(a != b for a, b in itertools.pairwise(kinds))
    return changes >= (0.42 if len(set(kinds)) == 3 else 0.25) * len(kinds)


def _is_random_value(match: re.Match[str]) -> bool:
    value, before = match["token"], match.string[max(0, match.start() - 24) : match.start()]
    mixed = re.search(r"[a-z]", value) and re.search(r"[A-Z]", value)
    named = re.search(r"(?i)sha|md5|hash|digest|commit|integrity|etag|uuid|symbol", before)
    return bool(mixed and not named and not value.startswith("_Z") and looks_random(value))


# The shapes that well-known services give their tokens.
_SHAPES = (
    r"(?<![A-Za-z0-9])(?P<token>hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}"
    r"|gh[opusr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|gl[a-z]{2,6}-[\w-]{16,}"
    r"|sk-(?=[\w-]{0,60}\d)[\w-]{16,}|sk_live_\w{16,}"
    r"|pypi-A[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])|xox[abeprs]-[\w-]{10,}"
    r"|xapp-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}"
    r"|npm_[A-Za-z0-9]{30,}|nvapi-[\w-]{20,}|r8_[A-Za-z0-9]{30,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
SECRETS = (
    # `set` prints a variable a line: the value may hold blanks
    _rule(
        r"^[ \t]{0,8}(?:set |export )?(?:[A-Z0-9_]{0,64}(?:(?:SECRET|PASSWORD)[A-Z0-9_]{0,64}"
        r"|PASSWD|PASSPHRASE|_TOKEN|_KEY|_PAT|_PWD)=)"
        r"(?P<token>[^\s\"'<\\](?:[^\"'\r\n\\<>]|\\(?![\"']))*)$",
        "=",
        lambda m: m[0].partition("=")[0].split()[-1].isupper(),
        re.IGNORECASE | re.MULTILINE,
    ),
    _rule(
        r"(?<![A-Z0-9])[a-z][a-z0-9+.-]{0,30}:\\?/\\?/(?!git@)"
        r"(?P<token>[^\s/@\"'<>\\]{1,1000}(?:@[^\s/@\"'<>\\]{1,1000}){0,3})(?=@)",
        "@",
    ),
    # a proxy without a scheme, and curl's --user
    _rule(
        r"(?<![\w./@:+%-])(?P<token>[\w.+-]{1,64}:[^\s/@\"'<>:\\]{1,200})"
        r"(?=@(?!sha\d)[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}(?::\d{2,5}(?!\w)|(?<=[a-z0-9]\.[a-z]{3})(?!\w)))",
        "@",
    ),
    _rule(
        r"(?<![\w-])(?:-u|--(?:proxy-)?user)(?:[ =]{1,3}|[\"'],[ ]?)[\"']?"
        r"(?P<token>[^\s\"'<>:@]{1,64}:[^\s\"'<>]{1,200})",
        "-u --proxy-u --user",
    ),
    _rule(
        r"(?<=[?&;])(?P<_key>[A-Z0-9_.-]{1,40})=(?P<token>[^&\s\"'#<>\\;]{1,4000})",
        "? &",
        _is_parameter,
    ),
    # conda's /t/TOKEN/, and feeds of packages with the token as their first folder
    _rule(
        r"(?:://|(?<=[\s\"'=]))[\w.-]{1,200}(?::\d{1,5})?(?:/[^\s/\"'<>]{1,80}){0,4}?/t/"
        r"(?P<token>[^\s/\"'<>?#\\]{6,200})(?=/)",
        "/t/",
    ),
    _rule(
        r"://[\w.-]{1,200}(?::\d{1,5})?/(?P<token>[\w-]{16,200})(?=/)",
        "://",
        lambda m: looks_random(m["token"]),
    ),
    _rule(_HEADER, "authorization cookie x-api- x-auth- -token ocp-apim"),
    _rule(r"\bbearer (?P<token>[\w.~+/=-]{12,})", "bearer "),
    _rule(
        r"\blogin[ \t]+\S{1,80}[ \t]+password[ \t]+(?P<token>[^\s<\"'\\][^\s\"'\\]{0,200})", "login"
    ),
    _rule(
        _ASSIGNMENT,
        "token key secret passw passphrase credential pwd pat= pat\" pat' pass= pass: pass_ sas=",
        _assigns,
    ),
    _rule(
        r"name[\"'][ \t]*:[ \t]*[\"'](?P<_key>\w{1,80})[\"'],[ \t]*[\"']value[\"'][ \t]*:[ \t]*"
        r"\"(?P<token>(?:[^\"\\\r\n]|\\.)+)",
        'value"',
        lambda m: is_secret_name(m["_key"]),
    ),
    _rule(
        _SHAPES,
        "hf_ api_org_ gho_ ghp_ ghu_ ghs_ ghr_ github_pat_ gl sk- sk_live_ pypi-a akia asia xox"
        " xapp- aiza ya29. npm_ nvapi- r8_ eyj",
        None,
        0,
    ),
    _rule(
        r"(?<=[=:\"'])[ ]?(?P<token>[A-Z0-9+/_-]{24,400}={0,2})(?=[\"'\s,;)\]}]|\Z)",
        "= : \" '",
        _is_random_value,
    ),
)
# A private key is long, and its lines may be items of a list.
PRIVATE_KEY = re.compile(
    r"(?P<head>-{4,5}BEGIN[^-\r\n]{0,80}PRIVATE[^-\r\n]{0,40}-{4,5})"
    r"(?P<body>.{0,12000}?(?=-{4,5}END)|(?:[A-Za-z0-9+/=\s\\\",]){0,12000})",
    re.DOTALL,
)
KEY_LINE = re.compile(r"(?<![\\<])\b[A-Za-z0-9+/=]{4,}(?!>)")

# -- names of people, in paths

_SEP = r"(?:\\/?|//?)"


# A path starts after nothing, a blank, a quote, a bracket, "=", or an option of a compiler.
def _start(after: str = "") -> str:
    """Where a path starts, seen from as many characters later as `after` has dots."""
    return (
        rf"(?:(?<![^\s\"'=;,(\[|`>{{]{after})|(?<=[\s\"'][-/][A-Za-z]{after})"
        rf"|(?<=-isystem{after})|(?<=-iquote{after})|(?<=-idirafter{after}))"
    )


_START = _start()
_STARTED = _start("..")
_USERS = r"(?:Users|Documents[ +]and[ +]Settings|DOCUME~\d)"
_SHARES = rf"(?:{_USERS}|homes?\$?|profiles?\$?|userdata\$?)"
_FOLDER_NAME = r"[^\s\x00-\x1f\\/:*?\"<>|]{1,80}"
_FOLDER = rf"(?!{_SHARES}[\\/]){_FOLDER_NAME}"
_UNC = (
    rf"(?:{_START}\\\\(?:[?.]\\UNC\\)?{_FOLDER_NAME}\\(?:{_FOLDER}\\){{0,3}}"
    rf"|(?:(?<=file:)(?://)?|{_START})//(?!/){_FOLDER_NAME}/(?:{_FOLDER}/){{0,3}})"
)
_POSIX = rf"(?:{_START}|(?<=[:@])|(?<=://))/"
_MOUNT = rf"(?:(?:(?:mnt|cygdrive|media){_SEP})?[a-z]{_SEP})?"


def _ends(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})\Z", re.IGNORECASE)


# What stands before the folder that holds people's folders.
_BEFORE_USERS = _ends(
    rf"[A-Z]:{_SEP}|(?:{_START}|(?<=%))\\|{_UNC}(?:{_SHARES}{_SEP})?|{_POSIX}{_MOUNT}"
)
_BEFORE_HOME = _ends(rf"{_UNC}|{_POSIX}(?:(?:export|var|usr|data){_SEP})?")
_BEFORE_SHARE = _ends(_UNC)
_USERS_BELOW = re.compile(rf"{_SEP}{_USERS}{_SEP}", re.IGNORECASE)


def _is_below_people(match: re.Match[str], *, whole: bool = False) -> bool:
    text, anchor = match.string, match["_anchor"].lower()
    before = text[max(0, match.start() - 340) : match.start()]
    if not whole:  # no path reaches over these; two characters more for an option's "-I"
        last = max(map(before.rfind, " \t\"'|<>\n"))
        before = before[max(0, last - 2) :]
        if match["_anchor"] == "Users" and before.endswith("\\"):  # C:\Windows.old\Users
            return True
    find = _BEFORE_USERS
    if not anchor.startswith(("users", "docu")):
        find = _BEFORE_HOME if anchor == "home" else _BEFORE_SHARE
        unc = _BEFORE_SHARE.search(before)
        if unc and _USERS_BELOW.match(text, match.end("_anchor")):
            return False
    if whole:
        return find.match(before.removeprefix("\\\\?\\").removeprefix("\\\\.\\")) is not None
    return find.search(before) is not None


_PEOPLE = rf"(?P<_anchor>{_SHARES}){_SEP}"
_CHARACTER = r"(?:[^\s\x00-\x1f\\/<>:\"|?*;']|'(?=\w))"
_NEXT_WORD = rf"(?<![,)\]}}])[ ](?=[\w(]|&[ ]){_CHARACTER}{{1,255}}"
_BARE = (
    r"(?:(?![,()\[\]{}`#\uff0c\u3002\u3001\uff1b\uff1a\u201c\u201d\u2018\u2019\u300d\u300f\uff09])"
    rf"{_CHARACTER}){{1,255}}(?<!\.)"
)
_CLOSED = r"(?=[\\/\"`;|>]|'(?!\w))"
# Where a known name ends: no letter, digit or combining mark goes on, no ".name".
_NEVER = r"(?!)"
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_NAME_END = r"(?![\w~$@+=\u0300-\u036f-])(?!\.\w)"
_PATHS = "users documents docume~ home profile userdata"


def _any_of(names: Iterable[str]) -> str:
    """A pattern for any of the names, the longest first; for none of them, one that never fits.

    Blanks may be plus signs, as in a URL's query; accents may be characters of their own.
    """
    forms = {form for n in names for form in (n, *(unicodedata.normalize(f, n) for f in _FORMS))}
    return "|".join(map(_spellings, sorted(forms, key=len, reverse=True))) or _NEVER


def _gates(names: Iterable[str]) -> str:
    """What a line must hold to name one of them: letters that have one spelling alone.

    Nothing where a name has no such letters; for no name, what no line holds.
    """
    runs = [re.findall(r"[a-z0-9]+", unicodedata.normalize("NFC", n).lower()) for n in names]
    longest = [max(run, key=len, default="") for run in runs]
    return (" ".join(longest) or _NEVER) if all(longest) else ""


def _spellings(name: str) -> str:
    return re.escape(name).replace(r"\ ", "[ +]")


def people(
    known: Sequence[str], alone: Sequence[str], hosts: Sequence[str], domains: Sequence[str]
) -> tuple[RedactionRule, ...]:
    """Where names of people stand.

    Args:
        known: names of people.
        alone: those that are no ordinary words, and mean the person everywhere.
    """
    users, telling = _any_of(known), _any_of(alone)
    servers, own = _any_of(hosts), _any_of([*hosts, *domains])
    word = r"[^\s\x00-\x1f\\/<>:\"|?*;',)]{1,255}"
    no_package = r"(?<!-packages[\\/])(?<!import )(?<!from )(?<! -m )(?<!module named ['\"])"
    return (
        # a text that is nothing but somebody's folder: the name goes to the end, blanks and all
        _rule(
            rf"{_PEOPLE}(?!(?:{users}){_NAME_END})"
            rf"(?P<user>{_CHARACTER}{{1,255}}(?:{_NEXT_WORD}){{0,2}})\Z",
            _PATHS,
            lambda m: _is_below_people(m, whole=True),
            whole=True,
        ),
        # a name may hold blanks where a separator or quote closes it, or where it is known
        _rule(
            rf"{_PEOPLE}(?P<user>{_CHARACTER}{{1,255}}(?:{_NEXT_WORD}){{0,4}}{_CLOSED}"
            rf"|(?:{users}){_NAME_END}|{_BARE})",
            _PATHS,
            _is_below_people,
        ),
        # Inductor's default cache; case matters, since TORCHINDUCTOR_CACHE_DIR is no folder
        _rule(
            rf"(?<![\w-])torchinductor_(?P<user>(?:{users}){_NAME_END}"
            rf"|(?<=[\\/](?-i:torchinductor_)){word}(?:(?: {word}){{1,3}}(?=[\\/\"]))?)",
            "torchinductor_",
        ),
        _rule(
            rf"(?:(?<=[\\/])|(?<![^\s\"'`(\[,;=:|>@])){no_package}(?P<user>{telling})"
            rf"(?![\w~$+=\u0300-\u036f-])(?!\.\w)",
            _gates(alone),
        ),
        _rule(
            rf"(?<![\w-])(?:{own})\\{{1,2}}(?P<user>{users}){_NAME_END}",
            _gates([*hosts, *domains]),
        ),
        _rule(rf"(?<![\w.-])(?P<user>{users}|[\w.+-]{{1,64}})@(?=(?:{servers})(?![\w-]))", "@"),
        # prompts, and logins of ssh
        _rule(
            r"(?<![\w.@/-])(?P<user>[\w.-]{1,64})@(?P<host>[\w-]{1,63}):(?=[~/][^\s#$]{0,200}[#$](?:\s|\Z))",
            "@",
        ),
        _rule(
            r"\[(?P<user>[\w.-]{1,64})@(?P<host>[\w-]{1,63}) (?=[^\]\s]{1,80}\][#$])",
            "@",
        ),
        _rule(r"(?<![\w.@/:-])(?P<user>[\w.-]{1,64})@(?=\d{1,3}(?:\.\d{1,3}){3}(?![\d.]))", "@"),
        _rule(
            r"\b(?:ssh|scp|sftp|rsync)\b[^\r\n@]{0,200}[\s\"'](?!git@)(?P<user>[\w.-]{1,64})@",
            "ssh scp sftp rsync",
        ),
    )


def home(folder: str) -> RedactionRule:
    """A home folder wherever it lies ("D:\\Profiles\\alex"), also by its 8.3 name."""
    *parts, name = [part for part in re.split(r"[\\/]+", folder) if part]
    drive = bool(parts) and parts[0].endswith(":")
    head = "" if drive else rf"(?<![\w.%)>\]-]){_SEP}{{1,2}}"
    head += "".join(rf"{_spellings(part)}{_SEP}" for part in parts)
    short = rf"{re.escape(name[:2])}[^\s\\/~]{{0,4}}~\d{{1,4}}(?:\.\w{{0,3}})?"
    pattern = rf"{head}(?P<user>{_spellings(name)}|{short}){_NAME_END}"
    return _rule(pattern, (parts[-1].lower() if parts and parts[-1].isascii() else "")[:8])


# -- servers, and identifiers

_NOT_SERVERS = frozenset({"localhost", "wsl", "wsl.localhost", "tsclient"})
SERVERS = (
    _rule(
        rf"\\\\{_STARTED}(?!\\)(?:[?.]\\UNC\\(?!\\))?(?P<host>[\w-][\w.-]{{0,80}})"
        r"(?=\\(?!\\)[^\s\\/:*?\"'<>|])",
        "\\\\",
        lambda m: m["host"].lower() not in _NOT_SERVERS,
    ),
    _rule(
        rf"//(?:(?<=file://)|{_STARTED}"
        r"(?![\w-]{1,60}\.(?!local|lan|corp|intern|intra|home)))"
        r"(?P<host>[\w-][\w.-]{0,80})(?=/[^\s\\/:*?\"'<>|])",
        "//",
        lambda m: m["host"].lower() not in _NOT_SERVERS,
    ),
)
_PAIR = r"[0-9A-F]{2}"
_SERIAL = r"\bserial(?:[ _-]?(?:number|no))?"
# Classes of devices in the registry are named alike on every machine.
_PUBLIC_UUIDS = frozenset({"4d36e968"})
IDENTIFIERS = (
    _rule(
        r"(?<![\w.+-])(?!git@)(?P<email>[\w.+-]{1,64}@(?:[A-Z0-9-]{1,63}\.){1,8}[A-Z]{2,24})(?![\w-])",
        "@",
    ),
    _rule(r"\b(?P<sid>S-1-5-21(?:-\d{1,10}){3,4})\b", "s-1-5-21"),
    *(
        _rule(rf"(?<![\w:-])(?P<mac>{_PAIR}(?:{mark}{_PAIR}){{5}})(?![\w:-])", mark, times=5)
        for mark in ":-"
    ),
    _rule(rf"{_SERIAL}[\"']?\s{{0,20}}[:=]\s{{0,3}}[\"'](?P<serial>[\w-]{{3,64}})", "serial"),
    _rule(
        rf"{_SERIAL}(?P<_quote>\")\s{{0,20}}:\s{{0,3}}(?P<serial>(?P<_number>\d{{2,64}}))", "serial"
    ),
    _rule(
        rf"{_SERIAL}\s{{0,40}}[:=]\s{{0,3}}(?P<serial>(?=[A-Z-]{{0,64}}\d)[A-Z0-9-]{{1,64}})",
        "serial",
    ),
    # the folder of a company's OneDrive carries the company's name
    _rule(
        r"\bOneDrive[ +]-[ +](?P<organisation>[^\s\\/<>:\"|?*;',][^\\/<>:\"|?*\r\n;',]{0,79})"
        r"(?=[\\/\"';,>|:\r\n]|\Z)",
        "onedrive",
    ),
    _rule(
        r"(?<![0-9a-f])(?P<uuid>(?P<_first>[0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
        r"(?![0-9a-z-])",
        "-",
        lambda m: m["_first"].lower() not in _PUBLIC_UUIDS,
        times=4,
    ),
    # CUDA_VISIBLE_DEVICES accepts the beginning of a device's UUID
    _rule(
        r"(?<![0-9a-f])(?:GPU|MIG)-(?P<uuid>(?P<_first>[0-9a-f]{8})(?:-[0-9a-f]{1,12}){0,4})"
        r"(?![0-9a-z-])",
        "gpu- mig-",
    ),
)


def places(
    hosts: Sequence[str], domains: Sequence[str], companies: Sequence[str]
) -> tuple[RedactionRule, ...]:
    """Machines, domains and companies by their known names, wherever they stand."""
    every = [*hosts, *domains]
    domain = _any_of(domains)

    def accepts(match: re.Match[str]) -> bool:
        in_url = match.string.endswith("://", 0, match.start())
        ordinary = match[0].lower() in ORDINARY_WORDS or len(match[0]) < 3
        return not ordinary or match["_dotted"] is not None or in_url

    return (
        _rule(
            rf"(?<![\w+-])(?:(?P<host>{_any_of(hosts)})|(?P<domain>{domain}))(?![\w-])"
            rf"(?P<_dotted>(?=\.(?:{domain})(?![\w-])))?",
            _gates(every),
            accepts,
        ),
        _rule(
            rf"(?<![\w-])(?P<organisation>{_any_of(companies)})(?![\w-])",
            _gates(companies),
        ),
    )


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
_ACCOUNT_NAME = r"(?:[^\s\"'<>\\;%$=]|'(?=\w)){1,255}"
_ACCOUNT_IS = r"(?:=|[\"'][ ]{0,3}[:=][ ]{0,3}[\"']|[ ]{0,3}=[ ]{0,3}[\"'])"
# LOGONSERVER starts like a share
ACCOUNTS = tuple(
    _rule(
        rf"(?<![A-Za-z0-9_])(?:{'|'.join(n for n, k in ACCOUNT_VARIABLES.items() if k == kind)})"
        rf"{_ACCOUNT_IS}(?:\\{{2}})?"
        rf"(?P<{kind}>{_ACCOUNT_NAME}(?:(?: {_ACCOUNT_NAME}){{1,3}}(?=[\r\n\"']|\Z))?)",
        gates,
        None,
        0,
    )
    for kind, gates in (
        ("user", "user logname lname"),
        ("host", "computername hostname logonserver"),
        ("domain", "userdomain userdnsdomain"),
    )
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
    found import user users host domain token uuid email sid mac serial organisation
    tmp var usr etc opt mnt media srv run workspace workspaces work content github runner docker
    jenkins appdata locallow roaming microsoft documents downloads profiles windows.old desktop.old
    share scripts dlls libs site-packages dist-packages backends utils auxiliary msvc hostx64
    bin64 lib64 profile homes comfy custom_nodes models checkpoints ops compiler common flash_attn
    flash-attn sglang vllm nodes tritonwin patch triton_kernels
    runtime language testing config experimental command core functions nvidia lora loras input
    output packages rich click flask requests pillow black mark max will bill frank grant chase page
    rose case root long young king small white green brown gray hope may june april dawn miles dean
    rob jack lane art pat guy sky ray gene earl line next found flux wan stable diffusion test1
"""
ORDINARY_WORDS = frozenset(_WORDS.split())
