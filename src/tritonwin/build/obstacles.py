"""What speaks against a build before it begins: a wheel that exists, a target that cannot build."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.build.model import Decision, Refusal, Source
from tritonwin.build.order import Machine, Order
from tritonwin.build.recipe import Recipe

_MOST_LINKS = 5  # that are named


def wheel(machine: Machine) -> Iterator[Decision]:
    """Whether a wheel exists already."""
    found = machine.wheel
    if found is None:
        return
    if found.file:
        value, reason = found.file, f"from {found.source}"
    else:
        short = "; ".join(found.in_short()) or "no source names one"
        value, reason = "none fits", short
    yield Decision(name="wheel", value=value, reason=reason, flag="--anyway")


def git(source: Source) -> Decision:
    """Whether git takes part."""
    reasons = {
        "sdist": "the source archive holds its submodules",
        "folder": "the folder is copied, without its history and without virtual environments",
        "git": "the source is a commit of a repository",
    }
    value = "needed" if source.requires_git else "not needed"
    return Decision(name="git", value=value, reason=reasons[source.kind], flag="--source")


def login(source: Source) -> Iterator[Decision]:
    """Where the login for a repository is."""
    if source.login:
        reason = "no plan, script or log holds it; a script and --resume read it there"
        yield Decision(name="login", value=f"the variable {source.login}", reason=reason)


def of_target(recipe: Recipe, order: Order, machine: Machine) -> Iterator[Refusal]:
    """What the target lacks, and a wheel that makes the build needless."""
    found, python = machine.wheel, machine.facts.target
    executable = python.executable if python else "python"
    if found and found.file and not order.anyway:
        yield Refusal(
            problem="",
            message=f"a wheel that fits exists: {found.file}",
            help=f'Install it: tritonwin install {found.package} --python "{executable}"; '
            "or build all the same: --anyway",
        )
    yield from _torch(recipe, machine, executable)
    dev = machine.facts.python_dev
    if dev is not None and dev.headers is None:
        yield Refusal(
            problem="embedded-python-no-headers",
            message=f"{executable} has no Python.h",
            help=f'Put the headers there: tritonwin fix --python "{executable}"',
        )
    elif dev is not None and machine.host.windows and dev.import_library is None:
        yield Refusal(
            problem="python-libs-not-found-venv-uv",
            message=f"{executable} has no import library (libs\\python3XX.lib)",
            help=f'Put it there: tritonwin fix --python "{executable}"',
        )


def _torch(recipe: Recipe, machine: Machine, executable: str) -> Iterator[Refusal]:
    torch = machine.facts.torch
    if not recipe.needs_torch:
        return
    install = f'Install it: tritonwin install torch --python "{executable}"'
    if torch is None:
        yield Refusal(
            problem="build-isolation-hides-torch",
            message=f"{recipe.name} is built against torch, and {executable} has none",
            help=install,
        )
    elif torch.cuda is None and recipe.needs_cuda:
        yield Refusal(
            problem="cpu-only-torch",
            message=f"torch {torch.version} is built without CUDA",
            help=install,
        )


def warnings(order: Order, machine: Machine) -> Iterator[str]:
    """What may go wrong without being sure to, and what was asked for in vain."""
    if order.msvc and not machine.host.windows:
        yield f"--msvc {order.msvc} is for Windows; here the variable CXX names the compiler"
    links = machine.checkout.links_out if machine.checkout else ()
    if links:
        named = ", ".join(f"{link.name} -> {link.target}" for link in links[:_MOST_LINKS])
        more = f" and {len(links) - _MOST_LINKS} more" if len(links) > _MOST_LINKS else ""
        yield f"the source has links that lead out of it, and the build uses them: {named}{more}"
    flawed = {
        variable.name: variable.flaws
        for variable in machine.facts.variables
        if variable.scope == "process" and variable.flaws
    }
    for name, flaws in flawed.items():
        yield f"the variable {name} has a flaw ({', '.join(flaws)}); the build does not inherit it"
    if machine.host.env.get("NVCC_PREPEND_FLAGS"):
        yield "NVCC_PREPEND_FLAGS is set, and nvcc obeys it"
