"""Git's `core.longpaths`, read from git's own settings files."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from tritonwin.system.files import is_file
from tritonwin.system.host import Host

_LIMIT = 262144  # bytes of a settings file that are read
_SECTION = re.compile(r"\s*\[\s*([^\]\s\"]+)\s*(\"[^\"]*\")?\s*\]\s*(.*)")
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?))?\s*(?:[#;].*)?")
_TRUE = ("true", "yes", "on", "1", "")


def git_long_paths(host: Host) -> tuple[bool | None, str]:
    """Whether git makes files with long paths, and where that is said.

    None where no git is found. Files in git's order, where the last one counts: system, user.
    """
    system = [folder / "Git" / "etc" / "gitconfig" for folder in host.program_files()]
    shared = host.env.folder("ProgramData")
    local = host.env.folder("LOCALAPPDATA")
    if local is not None:
        system.append(local / "Programs" / "Git" / "etc" / "gitconfig")
    if shared is not None:
        system.insert(0, shared / "Git" / "config")
    general = host.env.folder("XDG_CONFIG_HOME") or host.home / ".config"
    files = [*system, general / "git" / "config", host.home / ".gitconfig"]
    present = [path for path in files if is_file(path)]
    answer, source = None, ""
    for path in present:
        value = core_setting(path, "longpaths")
        if value is not None:
            answer, source = value.lower() in _TRUE, str(path)
    if answer is None and (present or host.executables("git")):
        return False, "git's default"
    return answer, source


def core_setting(path: Path, name: str) -> str | None:
    """The last value of a setting in section `core`; "" for a name without a value."""
    text = ""
    with contextlib.suppress(OSError), path.open("rb") as file:
        text = file.read(_LIMIT).decode("utf-8-sig", "replace")
    found, section = None, ""
    for line in text.splitlines():
        head = _SECTION.fullmatch(line)
        if head:
            section, line = (head[1].lower() if not head[2] else ""), head[3]
        setting = _SETTING.fullmatch(line)
        if setting and section == "core" and setting[1].lower() == name:
            found = (setting[2] or "").strip('"')
    return found
