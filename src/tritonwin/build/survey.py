"""Look at the machine that a build is planned for."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement

from tritonwin.build import checkout, memory, place
from tritonwin.build.order import Machine, Order
from tritonwin.build.recipe import load
from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.support.chooser import SetChooser
from tritonwin.support.install_plan import sources_for
from tritonwin.support.pip import Pip
from tritonwin.support.wheel_choice import WheelChoice
from tritonwin.system.files import is_file, is_folder
from tritonwin.system.host import Host


def survey(
    order: Order,
    facts: Facts,
    host: Host,
    pip: Callable[[], Pip],
    *,
    lists: Sequence[str] = (),
) -> Machine:
    """Everything that the planner asks for.

    Args:
        pip: the target's; its indexes are asked for a wheel that exists already.
        lists: where the user has wheels.

    Raises:
        UserError: no such recipe, a source that is none, or a folder that is not there.
    """
    recipe = load(order.recipe)
    _check_folders(order)
    folder = Path(order.source) if order.source else None
    found = None
    if folder and is_folder(folder):
        found = checkout.read(folder, recipe, windows=host.windows)
        if found is None:
            raise UserError(
                f"{folder} holds neither setup.py nor pyproject.toml",
                "Name the folder of the project itself: --source DIR",
            )
    machine = Machine(facts=facts, host=host, resources=memory.resources(), checkout=found)
    return replace(
        machine,
        disk_free=_free(Path(place.parent(order.root, machine))),
        wheel=_wheel(order, recipe.distribution, facts, pip, lists),
    )


def _check_folders(order: Order) -> None:
    for flag, path in (
        ("--llvm", order.llvm),
        ("--nlohmann-json", order.json),
        ("--pybind11", order.pybind11),
    ):
        if path is not None and not is_folder(path):
            raise UserError(
                f"there is no folder {path}",
                f"Name the unpacked folder, or leave it to the build: {flag} DIR",
            )
    root = order.root.absolute() if order.root else None
    file = next((p for p in (root, *root.parents) if is_file(p)), None) if root else None
    if file is not None:
        raise UserError(
            f"no build folder can be made in {root}: {file} is a file",
            "Name another folder: --root DIR",
        )


def _wheel(
    order: Order, distribution: str, facts: Facts, pip: Callable[[], Pip], lists: Sequence[str]
) -> WheelChoice | None:
    """The chooser's answer; None where it cannot be asked, or a source of the user's is built."""
    if not distribution or order.source or order.ref or order.anyway:
        return None
    wanted = f"{distribution}=={order.version}" if order.version else distribution
    try:
        sources = sources_for(facts, pip, lists=lists, offline=order.offline)
        chosen = SetChooser(facts=facts, sources=sources).choose([Requirement(wanted)]).chosen
    except UserError:
        return None
    return next((c.choice for c in chosen if c.choice.package == distribution), None)


def _free(folder: Path) -> int | None:
    """Bytes on the disk of a folder that may not exist yet."""
    for spot in (folder, *folder.parents):
        if is_folder(spot):
            try:
                return shutil.disk_usage(spot).free
            except OSError:
                return None
    return None
