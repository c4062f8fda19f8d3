"""The guard of a proven set: switched on and off through the journal, and how it stands."""

from __future__ import annotations

from dataclasses import replace

from tritonwin.facts.history import proven_state
from tritonwin.facts.records import Facts
from tritonwin.journal import Store, preview, undo
from tritonwin.remedies.apply import apply_plan
from tritonwin.remedies.keep_set import constraints_file, files, left_alone, read_kept
from tritonwin.remedies.plan import CannotRemedyError, FileText, KeepSet, Plan, target_to_change
from tritonwin.remedies.records import GuardOutcome, GuardState
from tritonwin.system.codec import DecodeError, from_json
from tritonwin.system.files import read_text
from tritonwin.system.shells import word

_WAIT = 5.0  # seconds for another tritonwin
_SIBLINGS = ("torchvision", "torchaudio")  # of torch; the rest of the set is what the proof names
_OVERRULING = ("PIP_CONSTRAINT", "PIP_CONFIG_FILE")


def status(facts: Facts) -> GuardOutcome:
    """The files that hold the guard, and the versions that differ from those that are kept."""
    constraints = constraints_file(facts)
    kept = read_kept(read_text(constraints))
    now = {d.name: d.version for d in facts.distributions[::-1]}
    held = tuple(file.path for file in files(facts, {}) if file.old != file.new)
    wanted = tuple(file.path for file in files(facts, kept) if file.old != file.new)
    return GuardOutcome(
        status="on" if held else "off",
        kept=kept,
        drifted={name: now.get(name) for name, old in kept.items() if now.get(name) != old},
        files=held,
        missing=wanted if held else (),
        left=tuple(str(file) for file in left_alone(facts)) if held else (),
        overruled=tuple(name for name in _OVERRULING if facts.variable(name)),
        uv=constraints.as_uri() if kept else None,
    )


def switch_on(facts: Facts, store: Store) -> GuardOutcome:
    """Keep the versions that are installed and were proven.

    Raises:
        UserError: they were not proven, or a file cannot be merged with or written.
    """
    changed = _write(facts, store, files(facts, _proven(facts)), "keep the proven versions")
    return replace(status(facts), status="switched-on" if changed else "unchanged", changed=changed)


def switch_off(facts: Facts, store: Store) -> GuardOutcome:
    """Undo what the guard wrote; from files that others changed since, take its lines alone.

    Raises:
        UserError: another tritonwin is at work, or a file cannot be written.
    """
    target = target_to_change(facts).executable
    changed: set[str] = set()
    with store.lock(target, _WAIT):
        for header in store.journals(target)[::-1]:
            wrote = _written(store, header.id) if header.state == "applied" else ()
            if not wrote:
                continue
            if preview(store, header.id).conflicts or undo(store, header.id).state != "undone":
                break
            changed |= {*wrote}
    changed |= {*_write(facts, store, files(facts, {}), "keep no versions any more")}
    state: GuardState = "switched-off" if changed else "unchanged"
    return replace(status(facts), status=state, changed=tuple(sorted(changed)))


def _proven(facts: Facts) -> dict[str, str]:
    now, before = proven_state(facts), facts.proven
    python = word(target_to_change(facts).executable) or "PYTHON"
    if before is None or now is None or before.versions != now.versions:
        since = "is no longer as it was proven" if before else "was not proven yet"
        raise CannotRemedyError(
            f"the set of this Python {since}", f"Prove it first: tritonwin verify --python {python}"
        )
    if not before.versions:
        raise CannotRemedyError("this Python has neither torch nor Triton to keep")
    siblings = [d for name in _SIBLINGS if (d := facts.distribution(name))]
    return {**before.versions, **{d.name: d.version for d in siblings}}


def _write(facts: Facts, store: Store, planned: tuple[FileText, ...], what: str) -> tuple[str, ...]:
    """Write those that differ, through one journal; their paths."""
    target = target_to_change(facts)
    wanted = tuple(file for file in planned if file.old != file.new)
    if wanted:
        change = KeepSet(what=f"{what} (tritonwin guard)", files=wanted)
        with store.lock(target.executable, _WAIT):
            apply_plan(Plan(target=target.executable, changes=(change,)), target, store)
    return tuple(file.path for file in wanted)


def _written(store: Store, identifier: str) -> tuple[str, ...]:
    """The files of a journal that carried out a KeepSet; of another one none."""
    try:
        changes = from_json(Plan, store.plan(identifier)).changes
    except DecodeError:
        return ()
    return tuple(f.path for each in changes if isinstance(each, KeepSet) for f in each.files)
