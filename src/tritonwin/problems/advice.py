"""The remedy that is shown: a finding in the catalogue's words, with the values that are known.

A text holds `{placeholders}`; a finding supplies their values, the facts supply the others. A
sentence is shown only where all its values are known, a command where they can also be copied into
any shell. Where a command lacks a value, the question that supplies it is shown instead.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from tritonwin.facts import amd
from tritonwin.facts.records import Facts, Interpreter
from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import Advice, Entry
from tritonwin.problems.conditions import allows, value_of
from tritonwin.problems.records import Action, Finding, Problem, Question, Remedy
from tritonwin.support import matrix
from tritonwin.support.matrix import released, served_series, torch_tags, wanted_series
from tritonwin.support.packages import FORK
from tritonwin.system.shells import word

UPSTREAM = "triton"


_CARDS = "Win32_VideoController"
_CARD = "nvidia-smi"
_NAME = re.compile(r"\{([a-z_]+)\}")

# A piece of a sentence that is left out where its value is not known.
_PIECE = re.compile(r" ?\(([^()]*\{[a-z_]+\}[^()]*)\)|\[([^][]*\{[a-z_]+\}[^][]*)\]")
_END = re.compile(r"(?<=[.?!]) ")

# Characters that would end the quotes around a value, or be expanded inside them, in cmd,
# PowerShell (which takes typographic quotes for quotes) or a Python literal. A log may name
# anything.
_BREAKS_QUOTES = re.compile(r"[\"'`$%\x00-\x1f\u2018-\u201f]|\\\Z")
_OF_WINDOWS = ("winget ", "reg ", "setx ", "copy ")
# a package's name takes no quotes
_QUOTED_NAME = re.compile(r'(?:(?<=install )|(?<=stall -y ))"([A-Za-z][\w-]*)"')
ANY_PYTHON = "python"  # where no path is known
_LAUNCHER = re.compile(r"py -3\.\d{1,2}")  # of Windows, where no more than the version is known


def started(target: Interpreter | None) -> str:
    """The word that starts a Python in a command line."""
    executable = target.executable if target else ANY_PYTHON
    return executable if _LAUNCHER.fullmatch(executable) else word(executable) or ANY_PYTHON


def advise(finding: Finding, facts: Facts) -> Problem:
    """The problem that a finding stands for, in words, with commands for the target of `facts`.

    A value that nothing supplies becomes a neutral word in a sentence; commands and automatic
    repairs that need it are left out. `explains` is empty: it takes all findings together.
    """
    entry = catalogue.load().entry(finding.id)
    target = facts.target
    python = started(target)
    values = {**context(facts), **entry.values, **finding.values, "python": python}
    advice, linux = _variant(entry, facts), catalogue.load().instead["linux"]
    actions = _actions(entry.actions if advice is entry.remedy else advice.actions, values)
    return Problem(
        id=entry.id,
        severity=finding.severity or entry.severity,
        certainty=finding.certainty,
        title=entry.title,
        cause=sentence(_of_this_system(advice.cause or entry.cause, facts), values),
        evidence=finding.evidence,
        remedy=Remedy(
            summary=sentence(_of_this_system(advice.summary, facts) or linux.summary, values),
            commands=_typed(_due(advice.commands, finding, facts), values, target),
            automatic=bool(actions),
        ),
        references=entry.references,
        actions=actions,
        question=_question(entry, advice, finding, values, facts),
    )


def _variant(entry: Entry, facts: Facts) -> Advice:
    """The first variant of the remedy whose condition the facts meet, or the general one.

    The torch that is there decides whose Triton is the person's: triton-windows replaces no other
    vendor's, except where the advice is made for that torch, and is nothing for Linux.
    """
    meets = (each for each in entry.remedies if _meets(each, facts))
    advice = next(meets, entry.remedy)
    if other := _of_another_maker(entry, advice, facts):
        return other
    installs = FORK in advice.summary and any("{triton_spec}" in c for c in advice.commands)
    return advice if facts.windows or not installs else catalogue.load().instead["linux"]


def _of_another_maker(entry: Entry, advice: Advice, facts: Facts) -> Advice | None:
    """The advice instead of one for NVIDIA's cards or for a Triton that another maker replaces."""
    when, commands = advice.when, advice.commands
    made = when.vendor or "xpu" in when.torch_build
    if when.amd or any("/xpu" in text for text in commands):
        return None
    actions = entry.actions if advice is entry.remedy else advice.actions
    arguments = (text for action in actions for text in action.arguments.values())
    whole = " ".join((advice.summary, *commands, *arguments))
    installs = {"triton"} if "{triton_spec}" in whole or FORK in whole else set()
    installs |= {"torch"} if "{cuda_tag}" in " ".join(commands) else set()
    return next(
        (
            each
            for name, each in catalogue.load().instead.items()
            if installs & {*each.of} and _meets(each, facts) and not (made and name != "zluda")
        ),
        None,
    )


def _due(commands: tuple[str, ...], finding: Finding, facts: Facts) -> tuple[str, ...]:
    """The commands, or none where one needs a program of Windows that is not there.

    What is merely possible takes nothing away: first comes the question.
    """
    foreign = not facts.windows and any(
        text.startswith(_OF_WINDOWS) or FORK in text for text in commands
    )
    takes = any(word in text for text in commands for word in ("uninstall", "force-reinstall"))
    return () if foreign or (takes and finding.certainty == "possible") else commands


def _of_this_system(text: str, facts: Facts) -> str:
    """A text without the sentences about Triton for Windows, where the log is of Linux."""
    if facts.windows:
        return text
    sentences = _END.split(" ".join(text.split()))
    return " ".join(s for s in sentences if FORK not in s and "Triton for Windows" not in s)


def _meets(advice: Advice, facts: Facts) -> bool:
    conditions = advice.when.conditions()
    return all(allows(fact, allowed, value_of(fact, facts)) for fact, allowed in conditions)


def _question(
    entry: Entry, advice: Advice, finding: Finding, values: Mapping[str, str], facts: Facts
) -> Question | None:
    """The question that decides the cause where that is open, or supplies what a command needs."""
    wanted = (n for text in advice.commands for n in names(text) if not values.get(n))
    supplies = (catalogue.load().asked.get(name) for name in wanted)
    missing = advice.question or next(filter(None, supplies), None)
    asked = missing if finding.certainty == "certain" else entry.question or missing
    if asked is None or not _of_this_system(asked.text, facts):
        return None
    foreign = _CARD if _not_nvidia(facts) else () if facts.windows else _OF_WINDOWS
    if asked.command.startswith(foreign):
        return None
    text = sentence(asked.text, values)
    if missing and facts.torch is None and "torch.__version__" in missing.command:
        text = f"{text} {values.get('torch_pairs') or pairs(facts.windows)}."
    if missing and _CARDS in missing.command:
        cards = (f"{c.cards} {c.name}" for c in amd.chips() if c.family and not c.integrated)
        text = f"{text} The chips: {', '.join(cards)}."
    return Question(text=text, command=_typed((asked.command,), values, facts.target)[-1])


def _not_nvidia(facts: Facts) -> bool:
    others = value_of("vendor", facts) in ("amd", "intel") and not facts.nvidia_gpus
    return others or value_of("torch_build", facts) in ("rocm", "xpu")


def pairs(windows: bool, torches: Container[str] | None = None) -> str:
    """The table of pairs in a few words, for one who looks up the Triton of a torch.

    Args:
        windows: for triton-windows, otherwise for upstream's triton.
        torches: the series of torch that it may be ("2.6"); None: any.
    """
    rows: dict[str, list[str]] = {}
    for pair in matrix.load().pairs:
        spec = f"{UPSTREAM}=={pair.triton}.*"
        if windows:
            spec = f"{FORK}<{_after(pair.windows)}" if pair.windows else ""
        if spec and (torches is None or pair.torch in torches):
            rows.setdefault(spec, []).append(pair.torch)
    return ", ".join(f"torch {' or '.join(found)} takes {spec}" for spec, found in rows.items())


def names(text: str) -> Iterator[str]:
    """The placeholders of a text, in order."""
    return (match[1] for match in _NAME.finditer(text))


def sentence(text: str, values: Mapping[str, str]) -> str:
    """Fill a text, however it is broken into lines; what has an unknown value is left out.

    That is the piece in brackets around it, else the whole sentence. Parentheses stay where all is
    known, square brackets mark a piece and are never shown.
    """

    def known(part: str) -> bool:
        return all(values.get(name) for name in names(part))

    def piece(found: re.Match[str]) -> str:
        shown = found[0] if found[1] else found[2]
        return shown if known(shown) else ""

    line = _PIECE.sub(piece, " ".join(text.split()))
    return " ".join(_filled(part, values) for part in _END.split(line) if known(part))


def general(text: str, mark: str = "<{}>") -> str:
    """A text without a finding, in which `mark` shows what one would fill in."""
    # which torch takes which Triton stands on a page of its own
    names = (name for name in catalogue.load().placeholders if name != "torch_pairs")
    return sentence(text, {name: mark.format(name.replace("_", " ")) for name in names})


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _NAME.sub(lambda found: values[found[1]], text)


def commands(texts: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Fill commands that can be copied, all or none: half a sequence may do harm.

    None of them where a value is missing or is not safe between quotes. `python` is quoted already.
    """
    for name in dict.fromkeys(name for text in texts for name in names(text)):
        value = values.get(name)
        if not value or (name != "python" and _BREAKS_QUOTES.search(value)):
            return ()
    return tuple(_QUOTED_NAME.sub(r"\1", _filled(text, values)) for text in texts)


def _actions(actions: Sequence[Action], values: Mapping[str, str]) -> tuple[Action, ...]:
    """All actions of a remedy, or none: half a repair may leave less than there was."""
    texts = (text for action in actions for text in action.arguments.values())
    if not all(values.get(name) for text in texts for name in names(text)):
        return ()
    return tuple(
        replace(a, arguments={n: _filled(text, values) for n, text in a.arguments.items()})
        for a in actions
    )


def _typed(
    texts: Sequence[str], values: Mapping[str, str], target: Interpreter | None
) -> tuple[str, ...]:
    """Commands as they can be typed for the target.

    uv makes environments without pip, and installs into them from outside. Any other environment
    gets pip from its own standard library, which only python.org's embeddable archive leaves out.
    """
    filled, python = commands(texts, values), values["python"]
    if python == ANY_PYTHON or _LAUNCHER.fullmatch(python):  # tritonwin then looks for one itself
        filled = tuple(command.replace(f" --python {python}", "") for command in filled)
    start = f"{python} -m pip "
    calls_pip = any(command.startswith(start) for command in filled)
    if not calls_pip or target is None or target.has_pip is not False:
        return filled
    if target.kind == "uv" or "uv" in target.managers:
        # which asks nothing
        known = re.compile(re.escape(start) + "(install|uninstall|list)(?: -y)?")
        of_uv = [known.sub(lambda m: f"uv pip {m[1]} --python {python}", c) for c in filled]
        return tuple(command for command in of_uv if not command.startswith(start))
    if target.kind == "embedded":
        return ()  # the rest of a sequence without its pip would be half of it
    return (f"{python} -m ensurepip", *filled)


def context(facts: Facts) -> dict[str, str]:
    """Name what the facts know: versions, the GPU, what to ask pip for."""
    target, torch, triton = facts.target, facts.torch, facts.triton
    gpu = next(iter(facts.nvidia_gpus), None)
    driver = facts.nvidia_driver
    chip = amd.chip(facts.amd_card.architecture) if facts.amd_card and facts.windows else None
    of_amd = value_of("vendor", facts) == "amd"
    tags = torch_tags(driver.cuda if driver else None, gpu.compute_capability if gpu else None)
    folder = target.base_prefix if target else None
    if target and target.kind != "venv":  # those must have named their base
        folder = folder or target.prefix
    values = {
        "python_version": target.version if target else None,
        "python_folder": folder,
        "torch_version": torch.version if torch else None,
        "triton_version": triton.version if triton else None,
        "wanted_triton": wanted_series(torch) if torch else None,
        "triton_spec": triton_spec(facts),
        "gpu": gpu.name if gpu else None,
        "compute_capability": gpu.compute_capability if gpu else None,
        "driver_version": driver.version if driver else None,
        "cuda_version": torch.cuda if torch else None,
        "torch_index": matrix.load().torch_index,
        "amd_index": matrix.load().amd.address if facts.windows and of_amd else None,
        "amd_chip": chip.name if chip and chip.family else None,
        "cuda_tag": None if _not_nvidia(facts) else next(iter(tags), None),
    }
    return {name: value for name, value in values.items() if value}


def triton_spec(facts: Facts) -> str | None:
    """The requirement for pip: `triton-windows<3.6` for the torch that is there.

    None where torch or its Triton is not known, when no triton-windows serves it yet, and for a
    torch that brings a Triton of its own. Elsewhere than on Windows upstream's releases are meant,
    which exist for every torch.
    """
    torch = facts.torch
    if value_of("torch_build", facts) == "xpu":
        return None
    wanted = wanted_series(torch) if torch else None
    if torch is None or wanted is None:
        return None
    if not facts.windows:
        return UPSTREAM + (torch.wants_triton or f"=={wanted}.*")
    served, fork = served_series(torch, wanted)[-1], facts.distribution(FORK)
    have = (facts.triton and facts.triton.version) or (fork.version if fork else None)
    gpus = (gpu.compute_capability or "" for gpu in facts.nvidia_gpus)
    if whole := matrix.load().whole_pair(have, served, gpus):
        served = whole.windows or served
    return f"{FORK}<{_after(served)}" if released(served) else None


def _after(series: str) -> str:
    major, minor = series.split(".")
    return f"{major}.{int(minor) + 1}"
