"""The node for ComfyUI, loaded as ComfyUI loads it: a line, four routes, and never a failure."""

from __future__ import annotations

import ast
import json
import logging
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from comfyui import NODE, StandInComfyUI, StandInPromptServer

SAGE = 'distributions=(*healthy.HEALTHY.distributions, healthy.dist("sageattention", "1.0.6"))'
NO_DRIVER = "drivers=()"
DRIFTED = """proven=__import__("dataclasses").replace(
    __import__("tritonwin.facts.history").facts.history.proven_state(healthy.HEALTHY),
    versions={"torch": "2.0.0"})"""
ATTRS = """Traceback (most recent call last):
  File "C:\\Users\\ada\\ComfyUI\\execution.py", line 496, in execute
  File "C:\\Users\\ada\\ComfyUI\\custom_nodes\\x\\nodes.py", line 7, in run
ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'
"""
UNRELATED = """Traceback (most recent call last):
  File "nodes.py", line 7, in run
KeyError: 'clip'
"""


class ComfyUI(StandInComfyUI):
    """A ComfyUI whose log is read."""

    def __init__(
        self,
        folder: Path,
        patch: pytest.MonkeyPatch,
        log: pytest.LogCaptureFixture,
        running: ExitStack,
    ) -> None:
        super().__init__(folder, patch)
        self.log, self.running = log, running

    def line(self) -> str:
        """The one line that the node logs after the start."""
        deadline = time.monotonic() + 60
        while not (said := [r for r in self.log.records if "[tritonwin]" in r.message]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert len(said) == 1
        assert "\n" not in said[0].message
        return said[0].message

    def start(self) -> str:
        """Load the node and listen; the line that it logs."""
        self.load()
        self.running.enter_context(self.serving())
        return self.line()


@pytest.fixture
def comfyui(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[ComfyUI]:
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    caplog.set_level(logging.INFO)
    handlers = list(logging.getLogger().handlers)
    with ExitStack() as running:
        yield ComfyUI(tmp_path, monkeypatch, caplog, running)
    logging.getLogger().handlers[:] = handlers


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (SAGE, r"Triton \d\.\d+ and torch \d\.\d+ fit; SageAttention \d\.\d+ in use"),
        (
            "triton=None",
            r"problem: Triton is not installed in this Python\. .*explain --about triton-missing",
        ),
    ],
)
def test_the_line(comfyui: ComfyUI, machine: str, says: str) -> None:
    comfyui.machine(machine)
    assert re.fullmatch(rf"\[tritonwin\] {says}", comfyui.start())


def test_what_changed_since_the_proof_is_named(comfyui: ComfyUI) -> None:
    comfyui.machine(DRIFTED)
    assert "[tritonwin] " in comfyui.start()
    found = {each["id"]: each for each in comfyui.ask("report")["problems"]}
    assert "torch" in json.dumps(found["environment-drifted"]["evidence"])


def test_the_tab_is_told(comfyui: ComfyUI) -> None:
    comfyui.machine("triton=None")
    comfyui.start()
    report = comfyui.ask("report")
    assert report["schema"] == "tritonwin.doctor/1"
    assert report["problems"][0]["id"] == "triton-missing"
    assert report["attention"].startswith("SageAttention")
    assert "custom_nodes" in report["repair"]
    assert str(comfyui.folder.parents[2]) not in report["repair"]
    assert comfyui.ask("error") == {}
    # a second look is a look; the first answer is kept
    before = comfyui.calls.read_text()
    assert comfyui.ask("report") == report
    assert comfyui.calls.read_text() == before
    comfyui.machine()
    assert comfyui.ask("look", "POST")["problems"] != report["problems"]


def test_the_last_error_is_explained(comfyui: ComfyUI) -> None:
    comfyui.start()
    logging.getLogger().error("!!! Exception during processing !!! %s", "cannot import name")
    logging.getLogger().error(ATTRS)
    found = comfyui.ask("error")
    assert found["problems"][0]["evidence"][0]["text"].startswith("ImportError: cannot import name")
    issue = comfyui.ask("issue")["text"]
    assert "AttrsDescriptor" in issue
    assert "ada" not in issue


def test_the_problems_of_the_machine_are_no_answer_to_every_error(comfyui: ComfyUI) -> None:
    comfyui.machine(NO_DRIVER)
    assert "driver" in comfyui.start()
    logging.getLogger().error(UNRELATED)
    assert comfyui.ask("error")["problems"] == []
    logging.getLogger().error(ATTRS)
    assert comfyui.ask("error")["problems"][0]["id"].startswith("triton-too-")


def test_errors_from_before_it_was_loaded(comfyui: ComfyUI) -> None:
    comfyui.logged = [{"t": "", "m": "Total VRAM"}, {"t": "", "m": ATTRS}, {"t": "", "m": "\n"}]
    comfyui.start()
    assert comfyui.ask("error")["problems"]


def test_an_attention_that_fails_is_counted(comfyui: ComfyUI) -> None:
    comfyui.start()
    for _ in range(3):
        logging.getLogger().error(
            "Error running sage attention: %s, using pytorch attention instead.",
            "Cannot find a working triton installation.",
        )
    assert comfyui.ask("report")["refusals"] == 3
    assert comfyui.ask("error")["problems"]
    assert "Error running sage attention" in comfyui.ask("issue")["text"]


def test_who_asks_at_the_same_time_shares_one_look(comfyui: ComfyUI) -> None:
    comfyui.start()
    before = comfyui.calls.read_text().count("snapshot")
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: comfyui.ask("look", "POST"), range(20)))
    assert all(answer == answers[0] for answer in answers)
    assert comfyui.calls.read_text().count("snapshot") - before < 5


def test_another_site_is_refused(comfyui: ComfyUI) -> None:
    comfyui.start()
    before = comfyui.calls.read_text()
    for site in ("cross-site", "same-site", "none"):
        for name in ("report", "error", "issue"):
            assert comfyui.ask(name, Sec_Fetch_Site=site)["status"] == 403
        assert comfyui.ask("look", "POST", Sec_Fetch_Site=site)["status"] == 403
    assert comfyui.calls.read_text() == before
    assert "error" not in comfyui.ask("report", Sec_Fetch_Site="same-origin")


HANGS = "import time; time.sleep(60)"
FAULTS = {
    "no file": (None, "tritonwin.bat is missing. Put it into custom_nodes/tritonwin."),
    "it hangs": (HANGS, "tritonwin snapshot took longer than 2 s"),
    "wrong use": ("import sys; sys.exit('no such option')", ""),
    "it fails": ("import sys; sys.stderr.write('error: broken'); sys.exit(3)", "error: broken"),
    "it says nothing": ("", "FileNotFoundError"),
    "it is no program": (")(", "tritonwin snapshot: "),
}


@pytest.mark.parametrize("name", FAULTS)
def test_comfyui_goes_on_whatever_happens(
    comfyui: ComfyUI,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    program, says = FAULTS[name]
    if program is None:
        (comfyui.folder / "tritonwin.pyz").unlink()
    else:
        comfyui.program(program)
    if program == HANGS:
        text = (comfyui.folder / "reading.py").read_text("utf-8")
        (comfyui.folder / "reading.py").write_text(text.replace("LIMIT = 120.0", "LIMIT = 2.0"))
    said = comfyui.start()
    assert says in said
    assert comfyui.module.NODE_CLASS_MAPPINGS == {}
    logging.getLogger().error(ATTRS)
    for route, method in (("report", "GET"), ("look", "POST"), ("error", "GET"), ("issue", "GET")):
        if route == "report" or program != HANGS:
            assert says in comfyui.ask(route, method)["error"]


@pytest.mark.parametrize("missing", ["server", "app", "routes"])
def test_a_comfyui_that_is_built_otherwise_still_starts(
    comfyui: ComfyUI,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
) -> None:
    if missing == "server":
        monkeypatch.setitem(sys.modules, "server", None)
    else:
        monkeypatch.delattr(StandInPromptServer.instance, missing)
    comfyui.load()
    assert comfyui.module.NODE_CLASS_MAPPINGS == {}
    assert "there is no tab" in comfyui.line()


def test_a_frozen_comfyui_is_not_started_again(
    comfyui: ComfyUI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", r"C:\ComfyUI\ComfyUI.exe")
    assert "this is no Python" in comfyui.start()
    assert not comfyui.calls.exists()


def test_a_record_that_cannot_be_formatted_harms_nobody(comfyui: ComfyUI) -> None:
    comfyui.start()
    heard = logging.getLogger().handlers[-1]
    assert type(heard).__name__ == "Heard"
    heard.handle(logging.LogRecord("x", logging.ERROR, "", 1, "%d %d", ("a",), None))
    heard.handle(logging.LogRecord("x", logging.ERROR, "", 1, object(), None, None))
    heard.handle(logging.LogRecord("x", logging.ERROR, "", 1, ATTRS + "x" * 10**7, None, None))
    assert len(comfyui.ask("issue")["text"]) < 10**6


# --- the rules of ComfyUI's registry, and our own

SOURCES = {path.name: path.read_text("utf-8") for path in sorted(NODE.glob("*.py"))}


@pytest.mark.parametrize("name", SOURCES)
def test_the_registry_would_take_it(name: str) -> None:
    tree = ast.parse(SOURCES[name], feature_version=(3, 9))
    called = {
        n.func.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert not called & {"eval", "exec", "compile", "__import__"}
    modules = {
        n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level
    }
    modules |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    own = {m.partition(".")[0] for m in modules} - {"aiohttp", "server"}
    assert own <= sys.stdlib_module_names
    assert not re.search(r"\bpip\b|shell=|\binstall\b", SOURCES[name])


def test_the_tab_trusts_no_text() -> None:
    script = (NODE / "web" / "tritonwin.js").read_text("utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(", script
    )
    assert re.findall(r"https?://[^\"' ]*", script) == ["https://"]
    assert len(script.splitlines()) <= 200
    assert sum(len(text.splitlines()) for text in SOURCES.values()) <= 400
