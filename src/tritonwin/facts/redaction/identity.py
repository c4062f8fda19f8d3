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
            domains=_names(domains, leave_out={*_names([*hosts, *short]), *TABLE.ordinary_domains}),
            companies=_names(
                last_component(env.get(n) or "").partition(" - ")[2]
                for n in ("OneDriveCommercial", "OneDrive")
            ),
        )


def last_component(folder: str) -> str:
    """The last name of a path of either kind, "" where there is none."""
    return PureWindowsPath(folder).name


def _is_personal(home: str) -> bool:
    name = last_component(home).casefold()
    return bool(name) and name not in TABLE.system_accounts and "%" not in home


def _text(value: str | int | None) -> str | None:
    return value if isinstance(value, str) else None


def _names(values: Iterable[str | None], leave_out: Iterable[str] = ()) -> tuple[str, ...]:
    """Each name once, whatever its case; empty ones and those to leave out are dropped."""
    ignored = {name.casefold() for name in leave_out}
    found: dict[str, str] = {}
    for value in values:
        name = (value or "").strip()
        if name and name.casefold() not in ignored.union(TABLE.ordinary_domains):
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
