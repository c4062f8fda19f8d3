"""Names of people, machines and companies, as this machine knows them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PureWindowsPath

from tritonwin.facts.redaction.rules import TABLE
from tritonwin.system.host import Host

_PROFILES = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList"
_TCPIP = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"


@dataclass(frozen=True)
class Identity:
    """Names of people and machines. The first home is that of the user who runs the tool."""

    users: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()  # whole folders: "D:\\Profiles\\alex"
    hosts: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    companies: tuple[str, ...] = ()  # as OneDrive names them: "OneDrive - Corp"

    @classmethod
    def this_machine(cls, host: Host) -> Identity:
        """The names in environment, registry, kernel and, on Linux, the list of accounts.

        The profile list of the registry holds the homes of everyone who ever signed in. Of the
        accounts on Linux it is the own one alone: services and containers may name neither user
        nor home in the environment.
        """
        env, asked = host.env, host.registry.value
        profiles = (
            asked(f"{_PROFILES}\\{k}", "ProfileImagePath") for k in host.registry.subkeys(_PROFILES)
        )
        account, folder, node = (None, None, None) if host.windows else _account()
        drive, path = env.get("HOMEDRIVE"), env.get("HOMEPATH")
        homes = _names(
            [
                str(host.home),
                *map(env.get, ("USERPROFILE", "HOME", "HOMESHARE")),
                f"{drive}{path}" if drive and path else None,
                *profiles,
                folder,
            ]
        )
        told = {kind: map(env.get, names) for kind, names in TABLE.account_variables.items()}
        machine = _names([*told["host"], asked(_TCPIP, "Hostname"), node])
        bare = [name.strip("\\") for name in machine]  # LOGONSERVER starts like a share
        hosts = _names([*bare, *(name.split(".")[0] for name in bare)])
        domains = (*told["domain"], asked(_TCPIP, "Domain"), asked(_TCPIP, "DhcpDomain"))
        drives = (last_component(env.get(n) or "") for n in ("OneDriveCommercial", "OneDrive"))
        not_personal = ("", *TABLE.system_accounts)
        return cls(
            users=_names([*told["user"], account]),
            homes=tuple(
                home
                for home in homes
                if last_component(home).casefold() not in not_personal and "%" not in home
            ),
            hosts=hosts,
            # without a domain, Windows gives the computer's name as one
            domains=_names(domains, leave_out=hosts),
            companies=_names(name.partition(" - ")[2] for name in drives),
        )


def last_component(folder: str) -> str:
    """The last name of a path of either kind, "" where there is none."""
    return PureWindowsPath(folder).name


def _names(values: Iterable[str | int | None], leave_out: Iterable[str] = ()) -> tuple[str, ...]:
    """Each name once, whatever its case; empty ones and those to leave out are dropped."""
    ignored = {"", *TABLE.ordinary_domains, *(name.casefold() for name in leave_out)}
    found: dict[str, str] = {}
    for value in values:
        name = value.strip() if isinstance(value, str) else ""
        if name.casefold() not in ignored:
            found.setdefault(name.casefold(), name)
    return tuple(found.values())


def _account() -> tuple[str | None, str | None, str | None]:
    """Name and home of the account that runs this, and the name of the machine, off Windows."""
    if sys.platform == "win32":
        return None, None, None
    import pwd

    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:  # a container may run as any number
        return None, None, os.uname().nodename
    return entry.pw_name, entry.pw_dir, os.uname().nodename
