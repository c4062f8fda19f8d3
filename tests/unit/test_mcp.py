"""`tritonwin mcp`, asked by the client of the official SDK."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import re
import sys
import threading
import venv
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fix_world import World
from fronts import Front, repairable, setting_of
from jsonschema import Draft202012Validator
from page_client import question_of
from schemas import validator
from trees import tree_hash

from tritonwin.front.door import Door

mcp = pytest.importorskip("mcp", reason="the extra tritonwin[mcp] is not installed")
serving = pytest.importorskip("tritonwin.front.mcp")
TOOLS = {"doctor", "explain", "plan_repair", "verify", "task", "snapshot"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return repairable(tmp_path, monkeypatch)


def with_client(world: World, use: Callable[[Any, Front], Awaitable[None]]) -> None:
    """Connect the SDK's client to the server in this process."""
    with Door(setting_of(world), watched=False) as door:
        front = Front(door)
        worker = threading.Thread(target=door.desk.run, daemon=True)
        worker.start()

        async def session() -> None:
            async with mcp.Client(serving.made(door)) as client:
                await use(client, front)

        try:
            asyncio.run(session())
        finally:
            door.ended.set()
            worker.join(60)


def test_it_looks_and_its_answers_keep_to_their_schemas(world: World) -> None:
    async def use(client: Any, front: Front) -> None:
        listed = (await client.list_tools()).tools
        assert {tool.name for tool in listed} == TOOLS
        for tool in listed:
            assert tool.description
            Draft202012Validator.check_schema(tool.input_schema)
        log = "ModuleNotFoundError: No module named 'triton'"
        for name, given, kind, says in (
            ("doctor", {}, "tritonwin.doctor/1", "script-shadows-triton"),
            ("explain", {"log": log}, "tritonwin.explain/1", "triton-missing"),
            ("snapshot", {}, "tritonwin.snapshot/1", "python.exe"),
        ):
            answer = await client.call_tool(name, given)
            assert not answer.is_error, answer
            assert answer.structured_content["schema"] == kind
            assert says in json.dumps(answer.structured_content)
            validator(kind).validate(answer.structured_content)

    before = tree_hash(world.root)
    with_client(world, use)
    assert tree_hash(world.root) == before


def test_nothing_is_changed_before_a_person_agreed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(serving, "show", lambda address: bool(opened.append(address)) or True)

    async def use(client: Any, front: Front) -> None:
        before = tree_hash(world.root)
        plan = (await client.call_tool("plan_repair", {})).structured_content
        assert (plan["state"], plan["question"]) == ("asking", "Make these changes?")
        assert plan["python"].endswith("python.exe")
        assert "triton.py" in plan["said"]
        # neither the page nor what would answer it is told to the assistant
        question = question_of(front.ask("GET", f"task/{plan['task']}").text)
        told = json.dumps(plan)
        assert not any(each in told for each in (question, *opened, front.root, "127.0.0.1"))
        for name in ("plan_repair", "verify", "doctor", "snapshot"):
            refused = await client.call_tool(name, {})
            assert refused.is_error
        for name, given in (("answer", {"question": question, "answer": "yes"}), ("fix", {})):
            assert (await client.call_tool(name, given)).is_error
        assert tree_hash(world.root) == before
        assert len(opened) == 1
        # the person
        front.act("answer", question=question, answer="yes")
        front.until(f"task/{plan['task']}", "Proven")
        done = (await client.call_tool("task", {"number": plan["task"]})).structured_content
        assert done["state"] == "done"
        assert "Proven: it works now." in done["said"]
        assert (await client.call_tool("task", {"number": 99})).is_error

    with_client(world, use)
    assert not world.shadow.exists()


def test_without_a_browser_there_is_no_plan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "show", lambda address: False)

    async def use(client: Any, front: Front) -> None:
        answer = await client.call_tool("plan_repair", {})
        assert answer.is_error
        assert "tritonwin fix" in answer.content[0].text
        front.until("task/1", "Nothing was changed.")

    with_client(world, use)
    assert world.shadow.exists()


def test_over_standard_input_and_output(tmp_path: Path) -> None:
    """The real program, asked for every tool: each answer keeps to its schema and names nobody."""
    home = tmp_path / "ada.lovelace"
    venv.create(home / "venv", with_pip=False, symlinks=os.name != "nt")
    python = home / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    secret = f"hf_{'x' * 34}"
    name = dict.fromkeys(("HOME", "USERPROFILE"), str(home))
    name |= dict.fromkeys(("USER", "LOGNAME", "USERNAME"), home.name)
    names = {**os.environ, **name, "TRITONWIN_HOME": str(home / "tw"), "HF_TOKEN": secret}
    for display in ("DISPLAY", "WAYLAND_DISPLAY"):
        names.pop(display, None)
    log = f"{home}/x.py: No module named 'triton' HF_TOKEN={secret} /home/{getpass.getuser()}jane/"
    asked = {"explain": {"log": log}, "task": {"number": 1}}

    async def session() -> None:
        words = ["-m", "tritonwin", "mcp", "--python", str(python)]
        start = mcp.StdioServerParameters(command=sys.executable, args=words, env=names)
        async with mcp.Client(start) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {*tools} == TOOLS
            for tool in ("doctor", *sorted(TOOLS - {"doctor"})):
                answer = await client.call_tool(tool, asked.get(tool, {}))
                told = answer.model_dump_json()
                assert not re.search(f"lovelace|jane|{secret}", told), told
                # there is no browser in which a person could agree, or nothing to repair
                if tool == "plan_repair":
                    continue
                assert not answer.is_error, told
                assert tools[tool].output_schema
                Draft202012Validator(tools[tool].output_schema).validate(answer.structured_content)

    asyncio.run(session())
