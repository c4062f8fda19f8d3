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
`torchinductor_NAME`, `USERNAME=NAME`, `DOMAIN\NAME`), because "torch" may be a user too. One that
is no ordinary word, and has three letters or more, is replaced wherever a path has a folder of that
name (`/data/alex/ComfyUI`). What the accounts of the system are called stays: `/root`,
`C:\Users\Administrator` (see `identity.NOT_PERSONS`).

Everything that is made to be shown to others goes through here: `snapshot`, the report that `fix`
keeps, `doctor --markdown`, `verify --report` and `--json`, `bench --json`, the build-info beside a
wheel. What is made to be worked with on this machine keeps its paths, which must lead somewhere:
every other `--json`, the page of `doctor --html` with its commands, plans, scripts, logs, journals.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar
from urllib.parse import unquote

from tritonwin.facts.redaction import rules as redact_rules
from tritonwin.facts.redaction.rules import last_component
from tritonwin.system.codec import Json, map_text
from tritonwin.system.host import Host

# Accounts of the system and of everybody: their names say nothing about a person, and are the same
# on every machine. They stay in what is shown to others, `/root` too: that a program ran with all
# rights, or as a service, can be the cause of a fault.
NOT_PERSONS = frozenset(
    {
        "administrator",
        "all users",
        "default",
        "default user",
        "defaultaccount",
        "guest",
        "localservice",
        "networkservice",
        "nobody",
        "public",
        "root",
        "system",
        "systemprofile",
        "wdagutilityaccount",
    }
)
_NOT_DOMAINS = frozenset(
    {
        "azuread",
        "builtin",
        "localdomain",
        "localhost",
        "microsoftaccount",
        "nt authority",
        "workgroup",
    }
)
_PROFILES = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList"
_TCPIP = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"


@dataclass(frozen=True)
class Identity:
    """Names of people and machines. The first home is that of the user who runs the tool."""

    users: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()  # whole folders: "D:\\Profiles\\alex"
    hosts: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()

    @classmethod
    def this_machine(cls, host: Host) -> Identity:
        """The names in environment, registry, kernel and, on Linux, the list of accounts.

        The profile list of the registry holds the homes of everyone who ever signed in. Of the
        accounts on Linux it is the own one alone: services and containers may name neither user
        nor home in the environment.
        """
        env = host.env
        drive, path = env.get("HOMEDRIVE"), env.get("HOMEPATH")
        homes = [str(host.home), env.get("USERPROFILE"), env.get("HOME"), env.get("HOMESHARE")]
        homes.append(f"{drive}{path}" if drive and path else None)
        for key in host.registry.subkeys(_PROFILES):
            value = host.registry.value(f"{_PROFILES}\\{key}", "ProfileImagePath")
            homes.append(value if isinstance(value, str) else None)
        account, folder = (None, None) if host.windows else _account()
        homes.append(folder)
        hosts = [
            *(env.get(n) for n in ("COMPUTERNAME", "HOSTNAME", "_CLUSTER_NETWORK_NAME_")),
            (env.get("LOGONSERVER") or "").strip("\\"),
            _text(host.registry.value(_TCPIP, "Hostname")),
            None if host.windows else _node_name(),
        ]
        domains = [
            *(env.get(n) for n in ("USERDOMAIN", "USERDOMAIN_ROAMINGPROFILE", "USERDNSDOMAIN")),
            _text(host.registry.value(_TCPIP, "Domain")),
            _text(host.registry.value(_TCPIP, "DhcpDomain")),
        ]
        short = [name.split(".")[0] for name in _names(hosts)]
        return cls(
            users=_names([*map(env.get, ("USERNAME", "USER", "LOGNAME", "SUDO_USER")), account]),
            homes=tuple(h for h in _names(homes) if _is_personal(h)),
            hosts=_names([*hosts, *short]),
            # without a domain, Windows gives the computer's name as one
            domains=_names(domains, leave_out={*_names([*hosts, *short]), *_NOT_DOMAINS}),
        )


def _is_personal(home: str) -> bool:
    name = last_component(home).casefold()
    return bool(name) and name not in NOT_PERSONS and "%" not in home


def _text(value: str | int | None) -> str | None:
    return value if isinstance(value, str) else None


def _names(values: Iterable[str | None], leave_out: Iterable[str] = ()) -> tuple[str, ...]:
    """Each name once, whatever its case; empty ones and those to leave out are dropped."""
    ignored = {name.casefold() for name in leave_out}
    found: dict[str, str] = {}
    for value in values:
        name = (value or "").strip()
        if name and name.casefold() not in ignored | _NOT_DOMAINS:
            found.setdefault(name.casefold(), name)
    return tuple(found.values())


def _account() -> tuple[str | None, str | None]:
    """The name and home of the account that runs this; None where it is not listed."""
    if sys.platform == "win32":
        return None, None
    import pwd

    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:  # a container may run as any number
        return None, None
    return entry.pw_name, entry.pw_dir


def _node_name() -> str | None:
    if sys.platform == "win32":
        return None
    return os.uname().nodename


_SHORT_NAME = re.compile(r"(?P<start>[^~]{1,6})~\d{1,4}(?:\.[^.]{0,3})?")
_ESCAPED = re.compile(
    r"(?P<lead>\\{1,4})(?:u(?P<u>[0-9a-f]{4})|x(?P<x>[0-9a-f]{2})|U(?P<U>[0-9a-f]{8}))",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[.\u2026]+|%(?![0-9a-f]{2})\w+%?|[$~{@*].*", re.IGNORECASE | re.DOTALL)
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_NOT_SERVERS = frozenset({"localhost", "wsl", "wsl.localhost", "tsclient"})

_SHORTEST = 3  # letters of a name that is sought in every path
_PROGRAMS = (".dll", ".exe", ".lib", ".py", ".pyd", ".so")
T = TypeVar("T")


class Redactor:
    """Redacts the texts of one report: names are numbered in the order in which they turn up."""

    def __init__(self, identity: Identity) -> None:
        homes = [home for home in identity.homes if last_component(home)]
        names = [*map(last_component, homes), *identity.users]
        self._names = tuple(dict.fromkeys(p for n in names if (p := _plain(n)) not in NOT_PERSONS))
        self._numbers: dict[str, dict[str, int]] = {}
        for kind, listed in (
            ("user", self._names),
            ("host", identity.hosts),
            ("domain", identity.domains),
        ):
            for name in listed:
                self._number(kind, name.casefold())
        self._domains = frozenset(d.casefold() for d in identity.domains)
        users = _any_of(names)
        self._telling = [n for n in names if _tells(_plain(n))]
        hosts, domains = _any_of(identity.hosts), _any_of(identity.domains)
        end = redact_rules.NAME_END
        self._people = (
            redact_rules.whole_text(users),
            redact_rules.below_home_like(users),
            *(redact_rules.home(home) for home in homes),
            redact_rules.cache_folder(users),
            redact_rules.folder_of(_any_of(self._telling)),
            re.compile(
                rf"(?<![\w-])(?:{hosts}|{domains})\\{{1,8}}(?P<name>{users}){end}", re.IGNORECASE
            ),
            re.compile(rf"(?<![\w.-])(?P<name>{users})@(?=(?:{hosts})(?![\w-]))", re.IGNORECASE),
        )
        self._places = re.compile(
            rf"(?<![\w+-])(?P<name>{hosts}|{domains})(?P<dotted>\.(?:{domains}))?(?![\w-])",
            re.IGNORECASE,
        )

    @classmethod
    def this_machine(cls, host: Host | None = None) -> Redactor:
        """For the names of this machine; `host`: as finders are to see it."""
        return cls(Identity.this_machine(host or Host.this_machine()))

    def record(self, record: T) -> T:
        """Every free text of a record redacted, keys of dicts included."""
        return map_text(record, self.text, keys=True)

    def text(self, text: str) -> str:
        """The text without secrets, names and identifiers. JSON stays valid JSON."""
        text = hide_secrets(text)
        for pattern in self._people:
            text = pattern.sub(self._person, text)
        text = redact_rules.ACCOUNT.sub(self._account, text)
        text = redact_rules.SERVER.sub(self._server, text)
        for rule in redact_rules.IDENTIFIERS:
            text = rule.pattern.sub(rule.replacement, text)
        text = redact_rules.UUID.sub(self._uuid, text)
        return self._places.sub(self._place, text)

    def variable(self, name: str, value: str) -> str:
        """The value of an environment variable, of which the name may say what it holds."""
        if redact_rules.SECRET_NAME.fullmatch(name):
            return redact_rules.TOKEN if value.strip() else value
        kind = redact_rules.ACCOUNT_VARIABLES.get(name.upper())
        bare = value.strip("\\ ")
        if kind is None and _plain(bare) in map(_plain, self._telling):
            kind = "user"
        if kind is None or not bare or bare.startswith("<"):
            return self.text(value)
        return self._user(bare) if kind == "user" else self._mark(kind, bare)

    def tree(self, tree: Json) -> Json:
        """Every string of a JSON tree redacted, names of fields included."""
        if isinstance(tree, str):
            return self.text(tree)
        if isinstance(tree, list):
            return [self.tree(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        name, value = tree.get("name"), tree.get("value")
        if isinstance(name, str) and isinstance(value, str):
            tree = {**tree, "value": self.variable(name, value)}
        return {self.text(key): self._field(key, item) for key, item in tree.items()}

    def _field(self, key: str, item: Json) -> Json:
        if isinstance(item, str):
            return self.variable(key, item)
        if type(item) in (int, float) and redact_rules.SECRET_NAME.fullmatch(key):
            return 0
        return self.tree(item)

    def _number(self, kind: str, key: str) -> int:
        numbers = self._numbers.setdefault(kind, {})
        return numbers.setdefault(key, len(numbers) + 1)

    def _mark(self, kind: str, name: str) -> str:
        number = self._number(kind, name.casefold())
        return f"<{kind}>" if number == 1 else f"<{kind}-{number}>"

    def _user(self, name: str) -> str:
        plain = _plain(name)
        if plain in NOT_PERSONS or _VARIABLE.fullmatch(name):
            return name
        short = _SHORT_NAME.fullmatch(plain)
        owner = next((n for n in self._names if short and _is_short_of(short["start"], n)), plain)
        number = self._number("user", owner)
        escaped = _ESCAPED.search(name)
        stem = "user" if name.isascii() else "\u00fcser"
        if escaped and name.isascii():
            stem = f"{escaped['lead']}u00fcser"
        stem += "~1" if short else ""
        if " " in name:
            return f"<{stem} {number}>"
        return f"<{stem}>" if number == 1 else f"<{stem}-{number}>"

    def _person(self, match: re.Match[str]) -> str:
        return _replaced(match, self._user(match["name"]))

    def _account(self, match: re.Match[str]) -> str:
        kind, name = redact_rules.ACCOUNT_VARIABLES[match["key"]], match["name"]
        return _replaced(match, self._user(name) if kind == "user" else self._mark(kind, name))

    def _server(self, match: re.Match[str]) -> str:
        known = match["name"].casefold() in _NOT_SERVERS
        return match[0] if known else _replaced(match, self._mark("host", match["name"]))

    def _uuid(self, match: re.Match[str]) -> str:
        first = match["first"].lower()
        if first in redact_rules.PUBLIC_UUIDS:
            return match[0]
        return f"{match['device'] or ''}{self._mark('uuid', first)}"

    def _place(self, match: re.Match[str]) -> str:
        name, dotted = match["name"], match["dotted"] or ""
        in_url = match.string.endswith("://", 0, match.start())
        ordinary = name.casefold() in redact_rules.ORDINARY_WORDS or len(name) < 3
        if ordinary and not dotted and not in_url:
            return match[0]
        kind = "domain" if name.casefold() in self._domains else "host"
        return self._mark(kind, name) + (f".{self._mark('domain', dotted[1:])}" if dotted else "")


def hide_secrets(text: str) -> str:
    """The text without passwords, tokens and keys; names of people and machines stay."""
    for rule in redact_rules.SECRETS:
        text = rule.pattern.sub(rule.replacement, text)
    return redact_rules.ASSIGNMENT.sub(_without_value, text)


def _tells(name: str) -> bool:
    """True if a name identifies a person wherever it is the name of a folder."""
    ordinary = name in NOT_PERSONS | redact_rules.ORDINARY_WORDS
    return len(name) >= _SHORTEST and not ordinary and not name.endswith(_PROGRAMS)


def _replaced(match: re.Match[str], mark: str) -> str:
    start = match.start("name") - match.start()
    return match[0][:start] + mark + match[0][start + len(match["name"]) :]


def _without_value(match: re.Match[str]) -> str:
    head = match["head"]
    if match["nested"]:
        return f"{head}{match['nested']}{redact_rules.TOKEN}"
    if match["double"] or match["single"]:
        quote = '"' if match["double"] else "'"
        return f"{head}{quote}{redact_rules.TOKEN}{quote}"
    # a number in JSON must stay one
    in_json = match["middle"].lstrip("\\").startswith('"') and ":" in match["middle"]
    return f"{head}0" if match["number"] and in_json else f"{head}{redact_rules.TOKEN}"


def _any_of(names: Iterable[str]) -> str:
    """A pattern for any of the names, the longest first; for none of them, one that never fits."""
    forms = {form for n in names for form in (n, *(unicodedata.normalize(f, n) for f in _FORMS))}
    return "|".join(map(redact_rules.spellings, sorted(forms, key=len, reverse=True))) or "(?!)"


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
