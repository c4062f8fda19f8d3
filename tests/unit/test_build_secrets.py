"""No password and no token of an address gets into a plan, a log or an error: it is refused."""

from __future__ import annotations

from pathlib import Path

import machines
import pytest
from cases import cases

from tritonwin.build import planner
from tritonwin.build.order import Order
from tritonwin.errors import UserError
from tritonwin.problems.explain import explain_stream
from tritonwin.support import pip
from tritonwin.system.process import Completed


@pytest.mark.parametrize("address", cases("source_addresses.toml", "with_secrets"))
def test_an_address_with_a_secret_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(UserError, match="without a login or token") as refused:
        planner.plan(Order(recipe="cuda-extension", source=address), machines.linux(tmp_path))
    assert "opaque" not in str(refused.value)
    assert "credential helper" in refused.value.help


@pytest.mark.parametrize("address", cases("source_addresses.toml", "plain"))
def test_an_address_without_one_is_taken_as_it_is(tmp_path: Path, address: str) -> None:
    machine = machines.linux(tmp_path)
    made = planner.plan(Order(recipe="cuda-extension", source=address), machine)
    assert (made.source.kind, made.source.location) == ("git", address)


def test_what_pip_and_a_build_say_is_told_without_secrets(tmp_path: Path) -> None:
    said = b"ERROR: HTTP 403 for https://me:opaque@h.org/x.whl?sig=opaque"
    assert "opaque" not in pip.last_words(Completed(1, b"", said))
    log = tmp_path / "build.log"
    log.write_bytes(
        b"[1/2] a\nFAILED: [code=2] x.o\ncc x\ngit clone https://me:opaque@h.org/x\n"
        b"ImportError: DLL load failed: API_TOKEN=opaque https://me:opaque@h.org/y\n"
    )
    with log.open("rb") as stream:
        found = explain_stream(stream, None)
    evidence = [e for p in found.problems for e in p.evidence]
    shown = [*evidence, *found.known, *found.suspicious]
    assert not any("opaque" in line.text for line in shown)
