"""git: the calls that fetch one commit of a repository, and the addresses that they may take.

No password and no token gets into a plan, which is printed, stored, written as a script and put
beside the wheel: an address with one is refused. git asks its own credential helpers.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from tritonwin.build.copying import SourceError, refuse_link
from tritonwin.build.plan import BuildSource
from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.journal.disk import discard
from tritonwin.support.addresses import without_secrets
from tritonwin.system.host import Host, merged
from tritonwin.system.process import run

_TIMEOUT = 3600.0  # seconds of one call
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


def check_out(source: BuildSource, to: Path, host: Host) -> str:
    """Fetch one commit, and the submodules that the build needs; the commit.

    What is left is what an sdist would hold. The setup.py of flash-attn fetches every submodule
    where it finds a `.git`, ROCm's with paths of 234 characters among them.
    """
    program = next(iter(host.executables("git")), None)
    if program is None:
        raise SourceError(*NOT_FOUND)
    env = merged(host.env.data, {**dict.fromkeys(VARIABLES), "GIT_TERMINAL_PROMPT": "0"})
    to.mkdir(parents=True)

    def git(*words: str) -> str:
        done = run(program, words, timeout=_TIMEOUT, env=env, cwd=to)
        if done.code != 0:
            said = hide_secrets(done.err.decode("utf-8", "replace").strip())[-500:]
            raise SourceError(
                f"git {words[0]} failed ({done.ending()}): {said}",
                "Check the address and the ref, or give --source DIR",
            )
        return done.out.decode("ascii", "replace").strip()

    git("init", "--quiet")
    git("config", "core.longpaths", "true")
    # a checkout whose lines end otherwise has other hashes than the one that was measured
    git("config", "core.autocrlf", "false")
    # without a remote, submodules with a relative address are sought below this folder
    git("config", "remote.origin.url", source.location)
    git("fetch", "--quiet", "--depth", "1", "--", "origin", source.ref or "HEAD")
    git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    if source.submodules:
        update = ("submodule", "--quiet", "update", "--init", "--recursive", "--depth", "1", "--")
        git(*update, *source.submodules)
    found = git("rev-parse", "HEAD")
    for name in (".git", *source.skip):
        refuse_link(to, name)
        discard(to / name)
    return found


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
