"""git: the calls that fetch one commit of a repository, and the addresses that they may take.

No password and no token gets into a plan, which is printed, stored, written as a script and put
beside the wheel: an address with one is refused. git asks its own credential helpers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from tritonwin.build.plan import BuildSource
from tritonwin.errors import UserError
from tritonwin.support.addresses import without_secrets

# ssh keeps the user, who is no secret: "ssh://git@host/path", "git@host:path"
_SSH_USER = re.compile(r"(?:ssh://)?[\w.-]+@(?=[\w.-]+[:/])")
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


def refuse_secrets(address: str) -> None:
    """Refuse the address of a repository that holds a login or a token.

    Raises:
        UserError: it does, or it is no address.
    """
    user = _SSH_USER.match(address)
    plain = address[user.end() :] if user else address
    try:
        parts = urlsplit(plain)
        nowhere = parts.scheme.lower() in {"http", "https"} and not parts.hostname
    except ValueError:
        nowhere = True
    odd = "://" not in plain and "@" in plain.partition("/")[0]
    if nowhere or odd or without_secrets(plain) != plain:
        raise UserError(
            f"{without_secrets(address).rpartition('@')[2]} is no address, or holds a login or a "
            "token, which plan and script would keep",
            "Leave it out: git asks its credential helper, and ssh its keys.",
        )
