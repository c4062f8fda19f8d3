"""The state in which a target was last proven to work, kept to see what changed since."""

from __future__ import annotations

import contextlib
import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path

from tritonwin.facts.model import Facts, Interpreter, Proven
from tritonwin.facts.packages import knowledge
from tritonwin.system.codec import DecodeError, from_json, parse, to_json
from tritonwin.system.data_folder import data_folder
from tritonwin.system.files import read_text, same_place
from tritonwin.system.host import Environment


def read_proven(target: Interpreter, environment: Environment) -> Proven | None:
    """The last proven state of this interpreter; None where there is none, or none to be read."""
    text = read_text(_file(target.executable, environment))
    if text is None:
        return None
    with contextlib.suppress(DecodeError, ValueError):
        return from_json(Proven, parse(text))
    return None


def write_proven(facts: Facts, environment: Environment) -> None:
    """Keep the present state as proven. A place that cannot be written is no reason to fail."""
    state = proven_state(facts)
    if facts.target is None or state is None:
        return
    file = _file(facts.target.executable, environment)
    new = file.with_suffix(".new")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(to_json(state), indent=2), "utf-8")
        new.replace(file)


def forget_proven(executable: str, environment: Environment, *, since: str) -> None:
    """Drop a proof that is not older than `since` (ISO 8601): what it rested on was given back."""
    file = _file(executable, environment)
    with contextlib.suppress(DecodeError, ValueError, TypeError, OSError):
        proof = from_json(Proven, parse(file.read_text("utf-8")))
        if datetime.fromisoformat(proof.when) >= datetime.fromisoformat(since):
            file.unlink()


def proven_state(facts: Facts) -> Proven | None:
    """What a proof rests on: Python, driver, and the distributions that are compiled for it."""
    if facts.target is None:
        return None
    driver = facts.nvidia_driver
    names = {*knowledge().triton, *knowledge().extensions, "torch"}
    return Proven(
        when=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        python=facts.target.version,
        driver=driver.version if driver else None,
        versions={d.name: d.version for d in facts.distributions[::-1] if d.name in names},
    )


def _file(executable: str, environment: Environment) -> Path:
    place = same_place(Path(executable)).encode("utf-8", "surrogatepass")
    name = hashlib.sha256(place).hexdigest()[:32]
    return data_folder(environment) / "proven" / f"{name}.json"
