"""git: the calls that fetch one commit of a repository, and the logins of addresses.

A plan is printed, stored, written as a script, cached by CI engines and put beside the wheel. No
password and no token gets into it: it names the variable, after the host, that holds the login.
git gets it by a helper that reads this variable, for its own host alone: neither the command
lines, which other users of a machine can read, nor git's settings hold it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from tritonwin.build.plan import BuildSource
from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.support.download import without_secrets

PREFIX = "TRITONWIN_LOGIN_"
_WEB = frozenset({"http", "https"})
# of the repository that a hook or an alias works in: with them git would change that one
VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SHALLOW_FILE",
    "GIT_CONFIG",
)

NOT_FOUND = (
    "git is needed to fetch the source, and there is none on PATH",
    "Install git, or give an unpacked source: --source DIR",
)
_FETCHING = frozenset({"fetch", "submodule"})


def checkout_calls(source: BuildSource) -> Iterator[tuple[str, ...]]:
    """The calls of git, each beginning with its command, that leave the commit in a folder.

    The submodules that the build needs come with it. They can be made again in the same
    folder.
    """
    yield ("init", "--quiet")
    yield ("config", "core.longpaths", "true")
    # a checkout whose lines end otherwise has other hashes than the one that was measured
    yield ("config", "core.autocrlf", "false")
    # without a remote, submodules with a relative address are sought below this folder
    yield ("config", "remote.origin.url", source.location)
    yield ("fetch", "--quiet", "--depth", "1", "--", "origin", source.ref or "HEAD")
    yield ("checkout", "--quiet", "--detach", "FETCH_HEAD")
    if source.submodules:
        update = ("submodule", "--quiet", "update", "--init", "--recursive", "--depth", "1", "--")
        yield (*update, *source.submodules)


def login_options(source: BuildSource, command: str) -> Iterator[str]:
    """Options before a command that tell git where the login is; sh comes with git."""
    if not source.login or command not in _FETCHING:
        return
    scheme, _, rest = source.location.partition("://")
    helper = f"credential.{scheme}://{rest.partition('/')[0]}.helper"
    user, password = f"${{{source.login}%%:*}}", f"${{{source.login}#*:}}"
    # unquoted, since cmd could not pass quotes on: without IFS, and with -f, a value is one word
    words = f"printf 'username=%s\\n' {user}; printf 'password=%s\\n' {password}"
    if not source.helpers:
        yield from ("-c", f"{helper}=")  # one that knows an older login would be asked first
    yield from ("-c", f"{helper}=!f() {{ set -f; IFS=; {words}; }}; f")


@dataclass(frozen=True, kw_only=True)
class Login:
    """The user and password of an address, before its "@".

    Attributes:
        variable: "TRITONWIN_LOGIN_GIT_EXAMPLE_ORG_8443".
        value: "user:password", or a token alone, percent signs decoded.
    """

    variable: str
    value: str = field(repr=False)


def split_login(address: str) -> tuple[str, Login | None]:
    """An address without its login, and the login. ssh keeps the user, and has no password.

    Raises:
        UserError: a secret stands where no program would look for it, so that it would stay.
    """
    parts = _parts(address)
    web = parts.scheme.lower() in _WEB
    if (web and not parts.hostname) or ("://" not in address and ":" in address.partition("@")[0]):
        raise _refused(address.rpartition("@")[2], "this is not an address")
    before, at, host = parts.netloc.rpartition("@")
    bare = urlunsplit(parts._replace(netloc=host)) if at else address
    if hide_secrets(bare) != bare:
        raise _refused(address, "a token in the path or the query would be kept and shown")
    if "@" in bare and without_secrets(bare) != bare:
        raise _refused(address, "this is not an address")
    if not web:
        user = before.partition(":")[0]
        return (urlunsplit(parts._replace(netloc=f"{user}@{host}")) if at else address), None
    if not unquote(before).isprintable():
        raise _refused(address, "the login holds a control character")
    return bare, Login(variable=login_variable(bare), value=unquote(before)) if at else None


def login_variable(address: str) -> str:
    """The variable that holds the login for the host of an address; empty if it has no host."""
    host = _parts(address).netloc.rpartition("@")[2]
    return PREFIX + re.sub(r"[^A-Z0-9]", "_", host.upper()) if host else ""


def logins_of(address: str | None) -> dict[str, str]:
    """The login that an address holds, as variables. Raises UserError as `split_login` does."""
    login = split_login(address)[1] if address else None
    return {login.variable: login.value} if login else {}


def without_logins(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables for programs that need no login."""
    return {k: v for k, v in variables.items() if not k.upper().startswith(PREFIX)}


def _parts(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise _refused(address, "this is not an address") from None


def _refused(address: str, why: str) -> UserError:
    return UserError(
        f"{without_secrets(address)}: {why}",
        "Write it as https://USER:TOKEN@HOST/PATH, or leave the login out and put USER:TOKEN into "
        f"a variable that is named after the host: {PREFIX}EXAMPLE_ORG for example.org",
    )
