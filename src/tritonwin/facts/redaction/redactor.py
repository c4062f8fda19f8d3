r"""Take out of a text what names a person, a machine or a secret; keep what explains a fault.

A name becomes a mark: `<user>`, `<host>`, `<domain>`, `<uuid>`, `<token>`, `<email>`, ... What
stands around it stays, so `C:\Users\Alexander\ComfyUI` becomes `C:\Users\<user>\ComfyUI`: still
an absolute path of its kind. Different names get different marks (`<user-2>`), the same name the
same mark in every spelling, so paths compare as before.

A mark keeps the two traits of a name that can be the cause of a fault: `<user 1>` with a blank
stands for a name with a blank, `<\u00fcser>` for one that is not ASCII; `<user~1>` is an 8.3 name.
Not kept: the length of the name, and which code page it needs; a check that depends on these
reads a fact of its own. `<` and `>` cannot occur in a Windows file name, so no mark is mistaken
for a name, and redacting twice changes nothing.

A user name is replaced only where a name must stand (below `Users`, `home` and the like, in
`torchinductor_NAME`, `USERNAME=NAME`, `DOMAIN\NAME`, prompts), because "torch" may be a user too.
One that is no ordinary word, and has three letters or more, is replaced wherever it is a whole word
(`/data/alex/ComfyUI`, `github.com:alex/x`), except as a package. What the accounts of the system
are called stays: `/root`, `C:\Users\Administrator` (see `rules.toml`).

Each line is taken in every way it can be read (`reading`), each rule of `rules` looks into each of
them, and what they find is replaced in the original: escapes stay escapes, JSON stays JSON.

Everything that is made to be shown to others goes through here: `snapshot`, the report that `fix`
keeps, `doctor --markdown`, `verify --report` and `--json`, `bench --json`, the build-info beside a
wheel. What is made to be worked with on this machine keeps its paths, which must lead somewhere:
every other `--json`, the page of `doctor --html` with its commands, plans, scripts, logs, journals.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar
from urllib.parse import unquote

from tritonwin.facts.redaction import rules as redact_rules
from tritonwin.facts.redaction.identity import Identity, last_component
from tritonwin.facts.redaction.reading import Reading, readings
from tritonwin.facts.redaction.rules import KINDS, TABLE, RedactionRule, is_secret_name
from tritonwin.system.codec import Json, map_text
from tritonwin.system.host import Host

TOKEN = "<token>"  # noqa: S105 - what a secret is replaced with
_MARK = re.compile(r"<(?:[a-z]+|(?:\\{1,4}u00fc|\u00fc)ser)(?:~1)?(?:[- ]\d+)?>")
_SHORT_NAME = re.compile(r"(?P<start>[^~]{1,6})~\d{1,4}(?:\.[^.]{0,3})?")
_ESCAPED = re.compile(
    r"(?P<lead>\\{1,8})(?:u(?P<u>[0-9a-f]{4})|x(?P<x>[0-9a-f]{2})|U(?P<U>[0-9a-f]{8}))",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[.\u2026]+|%(?![0-9a-f]{2})\w+%?|[$~{@*].*", re.IGNORECASE | re.DOTALL)
# A long line (a log in JSON) is taken in parts: at line ends in it that are no "\\n" of a path.
_LONG = 4000
_BREAK = re.compile(r"(?<=\\n)(?=  |\\n|\[|File |Traceback)")
_BLOCK = 60  # lines
_PASSES = 10  # at most, over a line that still changes
_SHORT = 200  # a text of a report that may come again
_SHORTEST = 3  # letters of a name that is sought in every path
_PROGRAMS = (".dll", ".exe", ".lib", ".py", ".pyd", ".so")
T = TypeVar("T")


@dataclass(frozen=True)
class _Found:
    """A part of a line that goes: its kind, and the name that it is when decoded."""

    start: int
    end: int
    kind: str
    name: str


_Group = tuple[tuple[str, ...], list[RedactionRule]]  # rules by their gates
_Mark = Callable[[_Found, str], str]  # of what was found and its spelling; the spelling: it stays


class _Rules:
    """A list of rules, the most important first, applied to the lines of a text."""

    def __init__(self, listed: Iterable[RedactionRule]) -> None:
        groups: dict[tuple[str, ...], list[RedactionRule]] = {}
        for rule in listed:
            groups.setdefault(rule.gates, []).append(rule)
        self._groups: list[_Group] = list(groups.items())
        self._gates = frozenset(gate for gates in groups for gate in gates)

    def replace(self, text: str, mark: _Mark) -> str:
        """The text with marks for what the rules find."""
        if "PRIVATE" in text:
            text = redact_rules.PRIVATE_KEY.sub(_without_key, text)
        lines = [[line] if len(line) < _LONG else _BREAK.split(line) for line in text.split("\n")]
        parts = [part for line in lines for part in line]
        changed = self._parts(parts, mark)
        done = [self._still_json("".join(p), "".join(islice(changed, len(p))), mark) for p in lines]
        whole = self._still_json(text, "\n".join(done), mark)
        if "PRIVATE" in whole and redact_rules.PRIVATE_KEY.sub(_without_key, whole) != whole:
            return self.replace(whole, mark)  # a mark made the head of a key short enough for one
        return whole

    def _parts(self, parts: list[str], mark: _Mark) -> Iterator[str]:
        """Each part changed. Most rules have nothing to look for in a whole block of lines."""
        for start in range(0, len(parts), _BLOCK):
            block = [(part, list(readings(part))) for part in parts[start : start + _BLOCK]]
            groups = self._worth(reading for _, read in block for reading in read)
            for part, read in block:
                yield self._line(part, read, groups, mark, whole=len(parts) == 1)

    def _worth(self, read: Iterable[Reading]) -> list[_Group]:
        """The groups that have something to look for, with those of their gates that are there."""
        low = "\n".join(reading.text for reading in read).lower()
        present = {gate for gate in self._gates if gate in low}
        return [
            (tuple(filter(present.__contains__, gates)), rules)
            for gates, rules in self._groups
            if not gates or not present.isdisjoint(gates)
        ]

    def _still_json(self, text: str, done: str, mark: _Mark) -> str:
        """`done`; where it is no JSON any more though `text` was, its strings one by one."""
        if done == text or text.lstrip()[:1] not in ("{", "[", '"') or _json(done) is not None:
            return done
        tree = _json(text)
        if tree is None:
            return done
        return json.dumps(self._tree(tree[0], mark), ensure_ascii=text.isascii())

    def _tree(self, tree: Json, mark: _Mark) -> Json:
        if isinstance(tree, str):
            return self.replace(tree, mark)
        if isinstance(tree, list):
            return [self._tree(item, mark) for item in tree]
        if not isinstance(tree, dict):
            return tree
        return {
            self.replace(key, mark): TOKEN
            if isinstance(item, str) and item and is_secret_name(key)
            else self._tree(item, mark)
            for key, item in tree.items()
        }

    def _line(
        self, line: str, read: list[Reading], groups: list[_Group], mark: _Mark, *, whole: bool
    ) -> str:
        for _ in range(_PASSES):  # a mark can end what hid something else
            pieces: list[str] = []
            done = 0
            for found in _apart(_found(read, groups, whole=whole), line):
                spelled = line[found.start : found.end]
                pieces += (line[done : found.start], mark(found, spelled))
                done = found.end
            changed = "".join((*pieces, line[done:]))
            if changed == line:
                break
            line, read = changed, list(readings(changed))
            groups = self._worth(read)
        return line


def _found(read: list[Reading], groups: list[_Group], *, whole: bool) -> list[_Found]:
    """The findings in all readings of a line."""
    found: list[_Found] = []
    for reading in read:
        text = reading.text
        low = text.lower()
        for gates, listed in groups:
            for gate in gates:
                if gate in low:
                    break
            else:
                if gates:
                    continue
            for rule in listed:
                if (rule.whole and not whole) or (rule.times and low.count(gate) < rule.times):
                    continue
                for match in rule.matches(text):
                    found += (
                        _Found(*reading.origin(*match.span(number)), *_told(match, kind))
                        for kind, number in rule.marks
                        if match.end(number) > match.start(number)
                    )
    return found


def _json(text: str) -> tuple[Json] | None:
    """The tree that the text is; None if it is no JSON."""
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def _told(match: re.Match[str], kind: str) -> tuple[str, str]:
    """The kind and the name; a number in JSON is of the kind "number", since it must stay one."""
    group = match.re.groupindex
    if "_number" in group and match["_number"] and match["_quote"] == '"' and ":" in match[0]:
        return "number", match[kind]
    return kind, match["_first"].lower() if kind == "uuid" else match[kind]


def _apart(found: list[_Found], line: str) -> list[_Found]:
    """Those that do not overlap; of one kind, what overlaps is taken as a whole."""
    starts: list[int] = []
    kept: list[_Found] = []
    for raw in sorted(found, key=lambda f: (_ORDER[f.kind], f.start - f.end)):
        one = raw
        if one.kind not in _IN_PATHS:
            end = one.end
            while end > one.start + 1 and line[end - 1] == "\\":  # they escape what comes next
                end -= 1
            one = replace(one, start=min(_after_escape(line, one.start), end - 1), end=end)
        first = last = bisect_left(starts, one.start)
        if first and kept[first - 1].end > one.start:
            first -= 1
        while last < len(kept) and kept[last].start < one.end:
            last += 1
        over = kept[first:last]
        if any(_ORDER[other.kind] != _ORDER[one.kind] for other in over):
            continue
        if over:
            start, end = min(one.start, over[0].start), max(one.end, over[-1].end)
            after = _after_escape(line, start)
            if after in {one.start, over[0].start}:  # read without the escape, it is "nbob@..."
                start = after
            one = replace(over[0], start=start, end=end)
        starts[first:last], kept[first:last] = [one.start], [one]
    return kept


def _after_escape(line: str, start: int) -> int:
    """`start`, or where the escape ends of which it is the letter."""
    letter = _LETTER.match(line, start) if start and line[start - 1] == "\\" else None
    return letter.end() if letter else start


_LETTER = re.compile(r"[nrtbfav]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}")
_IN_PATHS = frozenset({"user", "host", "domain", "organisation"})
_ORDER = {kind: order for order, kind in enumerate(("number", *KINDS))} | {"number": 1, "token": 1}


class Redactor:
    """Redacts the texts of one report: names are numbered in the order in which they turn up."""

    def __init__(self, identity: Identity) -> None:
        homes = [home for home in identity.homes if last_component(home)]
        names = [*map(last_component, homes), *identity.users]
        self._names = tuple(
            dict.fromkeys(p for n in names if (p := _plain(n)) not in TABLE.system_accounts)
        )
        self._numbers: dict[str, dict[str, int]] = {}
        self._done: dict[str, str] = {}  # a report repeats names of fields and paths
        known = {"user": self._names, "host": identity.hosts, "domain": identity.domains}
        for kind, listed in known.items():
            for name in listed:
                self._number(kind, name.casefold())
        self._telling = [n for n in names if _tells(_plain(n))]
        companies = [c for c in identity.companies if _tells(_plain(c))]
        sought = {
            "users": names,
            "telling": self._telling,
            "hosts": identity.hosts,
            "domains": identity.domains,
            "own": [*identity.hosts, *identity.domains],
            "companies": companies,
        }
        identifiers = (rule.of(sought) for rule in TABLE.identifier)
        homely = map(redact_rules.home, homes)
        self._rules = _Rules((*TABLE.secret, *homely, *redact_rules.ACCOUNTS, *identifiers))

    @classmethod
    def this_machine(cls, host: Host | None = None) -> Redactor:
        """For the names of this machine; `host`: as finders are to see it."""
        return cls(Identity.this_machine(host or Host.this_machine()))

    def record(self, record: T) -> T:
        """Every free text of a record redacted, keys of dicts included."""
        return map_text(record, self.text, keys=True)

    def text(self, text: str) -> str:
        """The text without secrets, names and identifiers. JSON stays valid JSON."""
        if len(text) > _SHORT:
            return self._rules.replace(text, self._replacement)
        if text not in self._done:
            self._done[text] = self._rules.replace(text, self._replacement)
        return self._done[text]

    def _replacement(self, found: _Found, spelled: str) -> str:
        if found.kind == "user":
            return self._user(spelled, found.name)
        if found.kind in ("host", "domain", "uuid"):
            return spelled if _MARK.fullmatch(spelled) else self._mark(found.kind, found.name)
        return _fixed_mark(found, spelled)

    def variable(self, name: str, value: str) -> str:
        """The value of an environment variable, of which the name may say what it holds."""
        if is_secret_name(name):
            return TOKEN if value.strip() else value
        kind = redact_rules.ACCOUNT_VARIABLES.get(name.upper())
        bare = value.strip("\\ ")
        if kind is None and _plain(bare) in map(_plain, self._telling):
            kind = "user"
        if kind is None or not bare or bare.startswith("<"):
            return self.text(value)
        return self._user(bare, bare) if kind == "user" else self._mark(kind, bare)

    def _number(self, kind: str, key: str) -> int:
        numbers = self._numbers.setdefault(kind, {})
        return numbers.setdefault(key, len(numbers) + 1)

    def _mark(self, kind: str, name: str) -> str:
        number = self._number(kind, name.casefold())
        return f"<{kind}>" if number == 1 else f"<{kind}-{number}>"

    def _user(self, spelled: str, name: str) -> str:
        plain = _plain(name)
        if plain in TABLE.system_accounts or _VARIABLE.fullmatch(name) or _MARK.fullmatch(spelled):
            return spelled
        short = _SHORT_NAME.fullmatch(plain)
        owner = next((n for n in self._names if short and _is_short_of(short["start"], n)), plain)
        number = self._number("user", owner)
        escaped = _ESCAPED.search(spelled)
        stem = "user" if spelled.isascii() else "\u00fcser"
        if escaped and spelled.isascii():
            stem = f"{escaped['lead']}u00fcser"
        stem += "~1" if short else ""
        if " " in spelled:
            return f"<{stem} {number}>"
        return f"<{stem}>" if number == 1 else f"<{stem}-{number}>"


def hide_secrets(text: str) -> str:
    """The text without passwords, tokens and keys; names of people and machines stay."""
    return _SECRETS.replace(text, _fixed_mark)


_SECRETS = _Rules(TABLE.secret)


def _fixed_mark(found: _Found, spelled: str) -> str:
    if found.kind == "number":
        return "0"
    mark = f"<{found.kind}>"
    bare = spelled.lstrip("bruf \"'\\")
    if _MARK.match(bare) or not bare:
        return spelled
    head = re.match(r"[bruf]{0,2}\\{0,8}[\"']| +", spelled) if found.kind == "token" else None
    return (head[0] if head else "") + mark


def _without_key(match: re.Match[str]) -> str:
    head, body = match["head"], match["body"]
    if body.startswith(TOKEN) or not body.strip():
        return match[0]
    if '"' in body or "'" in body:
        return head + redact_rules.KEY_LINE.sub(TOKEN, body)
    return head + TOKEN


def _tells(name: str) -> bool:
    """True if a name identifies a person wherever it is the name of a folder."""
    ordinary = name in TABLE.system_accounts + TABLE.ordinary_words
    return len(name) >= _SHORTEST and not ordinary and not name.endswith(_PROGRAMS)


def _plain(name: str) -> str:
    """The name without its spelling: percent signs and escapes resolved, composed, case folded."""
    plain = _ESCAPED.sub(lambda m: chr(int(m["u"] or m["x"] or m["U"], 16) % 0x110000), name)
    for _ in range(3):
        plain = unquote(plain)
    plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", plain).casefold()


def _is_short_of(start: str, name: str) -> bool:
    """True if an 8.3 name that starts so can be that of `name`.

    Windows leaves out blanks and dots and keeps six characters; after four names that start
    alike it keeps two and adds four hexadecimal digits.
    """
    packed = re.sub(r"[ .]", "", name)
    hashed = len(start) == 6 and re.fullmatch(r"[0-9a-f]{4}", start[2:]) is not None
    return packed.startswith(start) or (hashed and packed.startswith(start[:2]))
