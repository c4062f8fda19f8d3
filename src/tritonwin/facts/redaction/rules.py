"""Rules that find secrets, identifiers and names in text that is decoded (see `reading`).

They stand in `rules.toml`, whose head says what a rule is. Here are the functions that tell which
matches count.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from tritonwin.system.toml import read_resource

KINDS = (
    *("token", "user", "organisation", "host", "domain", "uuid", "email", "sid", "mac"),
    "serial",
)
Accepts = Literal[
    "name in capitals",
    "secret name",
    "secret parameter",
    "assigned to a secret name",
    "looks random",
    "no word",
    "random value",
    "of one machine",
    "no ordinary server",
    "no ordinary word",
    "folder of a person",
    "nothing but the folder of a person",
]


@dataclass(frozen=True, kw_only=True)
class RedactionRule:
    """A pattern, and when to look for it at all; see the head of `rules.toml`."""

    pattern: str
    gates: tuple[str, ...] = ()
    accepts: Accepts | None = None
    exact: bool = False
    times: int = 0
    whole: bool = False
    known: str = ""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled for the first line that may hold a match."""
        return re.compile(_spelled_out(self.pattern), 0 if self.exact else re.IGNORECASE)

    def of(self, names: Mapping[str, Sequence[str]]) -> RedactionRule:
        """The rule for the names that a machine knows."""
        pattern = _WORD.sub(
            lambda m: f"(?:{_any_of(names[m[1]])})" if m[1] in names else m[0], self.pattern
        )
        if pattern == self.pattern:
            return self
        gates = _gates(names[self.known]) if self.known else self.gates
        return replace(self, pattern=pattern, gates=gates)

    @cached_property
    def marks(self) -> tuple[tuple[str, int], ...]:
        """Kinds of marks, each with the number of its group."""
        numbers = self.regex.groupindex
        return tuple((kind, numbers[kind]) for kind in KINDS if kind in numbers)

    def matches(self, text: str) -> Iterable[re.Match[str]]:
        """Those that count. One that does not may hide another that begins after its anchor."""
        if self.accepts is None:
            return self.regex.finditer(text)
        counts = _COUNTS[self.accepts]
        if "_anchor" not in self.regex.groupindex:
            return [match for match in self.regex.finditer(text) if counts(match)]
        found = []
        match = self.regex.search(text)
        while match:
            counted = counts(match)
            if counted:
                found.append(match)
            match = self.regex.search(text, match.end(0 if counted else "_anchor"))
        return found


@dataclass(frozen=True, kw_only=True)
class RedactionTable:
    """The content of `rules.toml`."""

    system_accounts: tuple[str, ...]
    ordinary_domains: tuple[str, ...]
    ordinary_servers: tuple[str, ...]
    ordinary_words: tuple[str, ...]
    public_uuids: tuple[str, ...]
    secret_words: tuple[str, ...]
    weak_names: tuple[str, ...]
    secret_owners: tuple[str, ...]
    technical_words: tuple[str, ...]
    secret_parameters: tuple[str, ...]
    account_variables: dict[str, tuple[str, ...]]
    words: dict[str, str]
    secret: tuple[RedactionRule, ...]
    identifier: tuple[RedactionRule, ...]


TABLE = read_resource("tritonwin.facts.redaction", "rules.toml", RedactionTable)
_WORD = re.compile(r"\(\?P>(\w+)\)")


def _spelled_out(pattern: str) -> str:
    """The pattern in one line, with the words that it names."""
    line = "".join(pattern.splitlines())
    return _WORD.sub(lambda named: f"(?:{_spelled_out(TABLE.words[named[1]])})", line)


# -- secrets

_HEAD = re.compile(r"[A-Za-z0-9_.-]*\Z")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def is_secret_name(name: str, *, looks: bool = False) -> bool:
    """True if what a variable, option or field of that name holds is a secret.

    Args:
        looks: the value looks like a secret, which settles it for a name that could mean either.
    """
    parts = [part.lower() for part in _PART.findall(name) if not part.isdigit()]
    if parts[-1:] == ["value"] and name.isupper():
        parts.pop()
    if not parts or parts[-1] in ("file", "path", "dir", "type", "name", "length", "policy"):
        return False
    if any(part in TABLE.secret_words for part in parts) or parts[-2:] == ["api", "key"]:
        return True
    if parts[-1] not in ("token", "key", "pat", "pwd", "pass", "sas"):
        return False
    if len(parts) == 1:
        return name in ("TOKEN", "--token", "--pat") or looks
    if parts[-2] in TABLE.technical_words and parts[0] not in TABLE.secret_owners:
        return name.isupper() and parts[-2] != "triton"
    if parts == ["public", "key", "token"]:
        return False
    return looks or name.isupper() or parts[-2] in TABLE.secret_owners or parts[-1] == "pwd"


def _assigns(match: re.Match[str]) -> bool:
    text, start = match.string, match.start()
    head = _HEAD.search(text[max(0, start - 64) : start])
    name = (head[0] if head else "") + match["_anchor"] + match["_rest"]
    begin = start - len(head[0] if head else "")
    before = text[max(0, begin - 2) : begin]
    option = name.startswith("-")
    if before[-1:] in ("?", "&") or name[-1:] == "_":
        return False  # a parameter of an address, which ends at "&"
    if re.match(r"-?D(?=[A-Za-z_])", name) and (option or before[-1:] in ("/", "-")):
        name = re.sub(r"\A-?D", "", name)
        if name in ("PASS", "TOKEN", "KEY"):
            return True
    value = match["token"].strip("\"'")
    if match["_blank"] and not option and (value == match["token"] or not name.isupper()):
        return False
    if re.match(r"(?:\$[\w{(]|%\w+%|\*+\Z|os\.|[\w.]+\()", value):
        return False
    quoted = match["_quote"] or not match["_is"] or "=" in match["_is"] or option
    looks = bool(re.search(r"\d", value)) and len(value) >= 8 and not re.search(r"[\\(]", value)
    if name.lower() in ("token", "-token", "--token", "_authtoken") and quoted:
        return True
    if name.lower().lstrip("-_") in TABLE.weak_names:
        return _looks_random(value, 0.12)
    return is_secret_name(name, looks=looks)


def _is_parameter(match: re.Match[str]) -> bool:
    name = match["_key"].lower()
    amazon = name.startswith(("x-amz-", "x-goog-")) and name.endswith(
        ("credential", "signature", "token")
    )
    return name in TABLE.secret_parameters or amazon or is_secret_name(match["_key"])


def _looks_random(text: str, least: float | None = None) -> bool:
    """True if letters, digits and cases alternate as they do in no word.

    `least`: how many of the characters have to, where the place tells of a secret.
    """
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in text if c.isalnum()]
    if len(kinds) < 16 or len(set(kinds)) < 2 or "d" not in kinds:
        return False
    changes = sum(a != b for a, b in itertools.pairwise(kinds))
    return changes >= (least or (0.42 if len(set(kinds)) == 3 else 0.25)) * len(kinds)


def _is_random_value(match: re.Match[str]) -> bool:
    value, before = match["token"], match.string[max(0, match.start() - 24) : match.start()]
    mixed = re.search(r"[a-z]", value) and re.search(r"[A-Z]", value)
    named = re.search(r"(?i)sha|md5|hash|digest|commit|integrity|etag|uuid|symbol", before)
    return bool(mixed and not named and not value.startswith("_Z") and _looks_random(value))


# A private key is long, and its lines may be items of a list.
PRIVATE_KEY = re.compile(
    r"(?P<head>-{4,5}BEGIN[^\r\n]{0,160}?PRIVATE[^\r\n]{0,40}?-{4,5})"
    r"(?P<body>.{0,12000}?(?=-{4,5}END)|(?:[A-Za-z0-9+/=\s\\\",]|<token>){0,12000})",
    re.DOTALL,
)
KEY_LINE = re.compile(r"(?<![\\<])\b[A-Za-z0-9+/=]{4,}(?!>)")

# -- names of people, in paths


def _ends(word: str) -> re.Pattern[str]:
    return re.compile(_spelled_out(f"(?P>{word})\\Z"), re.IGNORECASE)


_BEFORE_USERS, _BEFORE_HOME, _BEFORE_SHARE = map(_ends, ("before_users", "before_home", "unc"))
_USERS_BELOW = re.compile(_spelled_out("(?P>sep)(?P>homes)(?P>sep)"), re.IGNORECASE)


def _is_below_people(match: re.Match[str], *, whole: bool = False) -> bool:
    text, anchor = match.string, match["_anchor"].lower()
    before = text[max(0, match.start() - 340) : match.start()]
    if not whole:  # no path reaches over these; two characters more for an option's "-I"
        last = max(map(before.rfind, " \t\"'|<>\n"))
        before = before[max(0, last - 2, _last_folders(before) - 12) :]
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


def _last_folders(path: str) -> int:
    """The starts of the last folders of a path for `_ends`: a share's, and below it."""
    start = len(path)
    for _ in range(11):
        start = max(path.rfind("\\", 0, start), path.rfind("/", 0, start))
        if start < 0:
            return 0
    return start


_NEVER = r"(?!)"
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")


def _any_of(names: Iterable[str]) -> str:
    """A pattern for any of the names, the longest first; for none of them, one that never fits.

    Blanks may be plus signs, as in a URL's query; accents may be characters of their own.
    """
    forms = {form for n in names for form in (n, *(unicodedata.normalize(f, n) for f in _FORMS))}
    return "|".join(map(_spellings, sorted(forms, key=len, reverse=True))) or _NEVER


def _gates(names: Iterable[str]) -> tuple[str, ...]:
    """The texts of which a line must hold one to name one of them: characters with one spelling.

    Empty where a name has no such characters; for no name, a text that no line holds.
    """
    runs = [re.findall(r"[!-~]+", unicodedata.normalize("NFC", n).lower()) for n in names]
    longest = tuple(max(run, key=len, default="") for run in runs)
    return (longest or (_NEVER,)) if all(longest) else ()


def _spellings(name: str) -> str:
    return re.escape(name).replace(r"\ ", "[ +]")


def home(folder: str) -> RedactionRule:
    """A home folder wherever it lies ("D:\\Profiles\\alex"), also by its 8.3 name."""
    *parts, name = [part for part in re.split(r"[\\/]+", folder) if part]
    drive = bool(parts) and parts[0].endswith(":")
    head = "" if drive else r"(?<![\w.%)>\]-])(?P>sep){1,2}"
    head += "".join(rf"{_spellings(part)}(?P>sep)" for part in parts)
    short = rf"{re.escape(name[:2])}[^\s\\/~]{{0,4}}~\d{{1,4}}(?:\.\w{{0,3}})?"
    return RedactionRule(
        pattern=rf"{head}(?P<user>{_spellings(name)}|{short})(?P>name_end)",
        gates=_gates(parts[-1:]) if parts else (),
    )


ACCOUNT_VARIABLES = {n: kind for kind, names in TABLE.account_variables.items() for n in names}
# LOGONSERVER starts like a share
ACCOUNTS = tuple(
    RedactionRule(
        pattern=rf"(?<![A-Za-z0-9_])(?:{'|'.join(names)})(?P>account_is)(?:\\{{2}})?"
        rf"(?P<{kind}>(?P>account_name)(?:(?: (?P>account_name)){{1,3}}(?=[\r\n\"']|\Z))?)",
        gates=tuple(name.lower() for name in names),
        exact=True,
    )
    for kind, names in TABLE.account_variables.items()
)


def _is_extraordinary(match: re.Match[str]) -> bool:
    in_url = match.string.endswith("://", 0, match.start())
    ordinary = match[0].lower() in TABLE.ordinary_words or len(match[0]) < 3
    return not ordinary or match["_dotted"] is not None or in_url


_COUNTS: dict[Accepts, Callable[[re.Match[str]], bool]] = {
    "name in capitals": lambda m: m["_name"].isupper(),
    "secret name": lambda m: is_secret_name(m["_key"]),
    "secret parameter": _is_parameter,
    "assigned to a secret name": _assigns,
    "looks random": lambda m: _looks_random(
        m["token"], 0.12 if m.string.startswith("/simple", m.end("token")) else None
    ),
    "no word": lambda m: _looks_random(m["token"], 0.12),
    "random value": _is_random_value,
    "of one machine": lambda m: m["_first"].lower() not in TABLE.public_uuids,
    "no ordinary server": lambda m: m["host"].lower() not in TABLE.ordinary_servers,
    "no ordinary word": _is_extraordinary,
    "folder of a person": _is_below_people,
    "nothing but the folder of a person": lambda m: _is_below_people(m, whole=True),
}
