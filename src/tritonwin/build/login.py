"""Logins: taken out of addresses, and handed to programs in variables of the environment.

A plan is printed, stored, written as a script, cached by CI engines and put beside the wheel. No
password and no token gets into it: it names the variable, after the host, that holds the login.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.support.download import without_secrets

PREFIX = "TRITONWIN_LOGIN_"
_WEB = frozenset({"http", "https"})


@dataclass(frozen=True, kw_only=True)
class Login:
    """What an address held before its "@".

    Attributes:
        variable: "TRITONWIN_LOGIN_GIT_EXAMPLE_ORG_8443".
        value: "user:password", or a token alone, percent signs decoded.
    """

    variable: str
    value: str = field(repr=False)


def split(address: str) -> tuple[str, Login | None]:
    """An address without its login, and the login. ssh keeps the user, and has no password.

    Raises:
        UserError: a secret stands where no program would look for it, so that it would stay.
    """
    parts = _parts(address)
    web = parts.scheme.lower() in _WEB
    if (web and not parts.hostname) or ("://" not in address and ":" in address.partition("@")[0]):
        raise _refused(address.rpartition("@")[2], "this is no address")
    before, at, host = parts.netloc.rpartition("@")
    bare = urlunsplit(parts._replace(netloc=host)) if at else address
    if hide_secrets(bare) != bare:
        raise _refused(address, "a token in the path or the query would be kept and shown")
    if "@" in bare and without_secrets(bare) != bare:
        raise _refused(address, "this is no address")
    if not web:
        user = before.partition(":")[0]
        return (urlunsplit(parts._replace(netloc=f"{user}@{host}")) if at else address), None
    if not unquote(before).isprintable():
        raise _refused(address, "the login holds a control character")
    return bare, Login(variable=variable(bare), value=unquote(before)) if at else None


def variable(address: str) -> str:
    """The variable that holds the login for the host of an address; empty where there is none."""
    host = _parts(address).netloc.rpartition("@")[2]
    return PREFIX + re.sub(r"[^A-Z0-9]", "_", host.upper()) if host else ""


def given(address: str | None) -> dict[str, str]:
    """The login that an address holds, as variables. Raises UserError as `split` does."""
    login = split(address)[1] if address else None
    return {login.variable: login.value} if login else {}


def without_logins(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as programs get them that have no login to make."""
    return {k: v for k, v in variables.items() if not k.upper().startswith(PREFIX)}


def _parts(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise _refused(address, "this is no address") from None


def _refused(address: str, why: str) -> UserError:
    msg = f"{without_secrets(address)}: {why}"
    return UserError(
        msg,
        "Write it as https://USER:TOKEN@HOST/PATH, or leave the login out and put USER:TOKEN into "
        f"a variable that is named after the host: {PREFIX}EXAMPLE_ORG for example.org",
    )
