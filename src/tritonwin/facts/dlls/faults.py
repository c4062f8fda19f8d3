"""What keeps a file from being loaded, in words: one fault a DLL, the nearest first."""

from __future__ import annotations

from dataclasses import dataclass

from tritonwin.facts.dlls.origins import origin
from tritonwin.facts.dlls.tree import DllTree, Module


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A DLL that is missing, of the wrong kind, or too old.

    Attributes:
        needed_by: the modules that ask for it, the nearest to the file first.
        lacking: functions that are asked of it and that it does not have.
    """

    dll: str
    path: str | None
    version: str | None
    needed_by: tuple[str, ...]
    lacking: tuple[str, ...]
    text: str
    help: str


def faults(tree: DllTree) -> tuple[Fault, ...]:
    """Empty where the file loads, as far as files tell."""
    needed: dict[str, list[str]] = {}
    lacking: dict[str, list[str]] = {}
    found: dict[str, Module] = {}
    for owner, need, module in tree.faults():
        key = module.name.lower()
        found.setdefault(key, module)
        needed.setdefault(key, []).append(owner.name)
        lacking.setdefault(key, []).extend(need.lacking)
    return tuple(
        _fault(module, tuple(dict.fromkeys(needed[key])), tuple(dict.fromkeys(lacking[key])), tree)
        for key, module in found.items()
    )


def _fault(
    module: Module, needed_by: tuple[str, ...], lacking: tuple[str, ...], tree: DllTree
) -> Fault:
    return Fault(
        dll=module.name,
        path=module.path,
        version=module.version,
        needed_by=needed_by,
        lacking=lacking,
        text=_text(module, needed_by[0], len(lacking), tree),
        help=origin(module.name),
    )


def _text(module: Module, owner: str, lacking: int, tree: DllTree) -> str:
    version = f" {module.version}" if module.version else ""
    if module.state == "missing":
        return f"{module.name}, which {owner} needs, was found nowhere (Windows' error 126)"
    if module.state == "unreadable":
        itself = module is tree.modules[0]
        who = "" if itself else f", which {owner} needs,"
        return f"{module.path}{who} is damaged (Windows' error 193)"
    if module.state == "wrong-machine":
        return (
            f"{module.path} is built for {module.machine}, and {owner} for "
            f"{tree.modules[0].machine} (Windows' error 193)"
        )
    functions = "a function" if lacking == 1 else f"{lacking} functions"
    return (
        f"{module.path}{version} lacks {functions} that {owner} needs, so it is of another "
        "version (Windows' error 127)"
    )
