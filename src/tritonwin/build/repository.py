"""One commit of a repository, as calls of git: the run makes them, and a script holds them.

A login gets to git by a helper that reads it from a variable, for its own host alone: neither the
command lines, which other users of a machine can read, nor git's settings hold it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.build.model import Source

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

_FETCHING = frozenset({"fetch", "submodule"})


def checkout(source: Source) -> Iterator[tuple[str, ...]]:
    """The calls of git, each beginning with its command, that leave the commit in a folder.

    The submodules that the build needs come with it. Made once more, the calls find what the first
    time left.
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


def options(source: Source, command: str) -> Iterator[str]:
    """What stands before a command so that git knows where the login is; sh comes with git."""
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
