"""No password and no token of an address gets into a plan, a script, a log, a file or an error."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import machines
import pytest
from build_plans import NOBODY, laid_down
from git_repositories import ALLOW_FILES, commit
from git_repositories import git as call_git

from tritonwin.build import attempt, command, git, planner
from tritonwin.build.command import Shell, script
from tritonwin.build.copying import SourceError
from tritonwin.build.order import Order
from tritonwin.build.plan import BuildPlan
from tritonwin.build.runner import write_plan
from tritonwin.build.wheel import describe
from tritonwin.errors import UserError
from tritonwin.output.building import BuildReport, print_build_plan
from tritonwin.problems.explain import explain_stream
from tritonwin.remedies import build_wheel
from tritonwin.support import pip
from tritonwin.system.codec import to_json
from tritonwin.system.host import Host
from tritonwin.system.process import Completed

_GIT = next(iter(Host.this_machine().executables("git")), None)
_FOLDER = (
    subprocess.run([str(_GIT), "--exec-path"], capture_output=True, timeout=60, check=True).stdout
    if _GIT
    else b""
)
_BACKEND = Path(os.fsdecode(_FOLDER.strip()), "git-http-backend")
AVAILABLE = _BACKEND.is_file()


class _Handler(BaseHTTPRequestHandler):
    root: Path
    login: str

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        wanted = "Basic " + base64.b64encode(self.login.encode()).decode()
        if self.headers.get("Authorization") != wanted:
            self._send(401, {"WWW-Authenticate": 'Basic realm="x"'}, b"")
            return
        path, _, query = self.path.partition("?")
        file = self.root / path.lstrip("/")
        if file.is_file() and ".git" not in file.parts:
            self._send(200, {}, file.read_bytes())
        else:
            self._send(200, *self._git(path, query))

    def _git(self, path: str, query: str) -> tuple[dict[str, str], bytes]:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        env = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            [str(_BACKEND)], input=body, env=env, capture_output=True, timeout=60, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.partition(": ") for line in head.decode().splitlines()]
        return {name: value for name, _, value in fields if name != "Status"}, content

    def _send(self, status: int, head: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {**head, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        del format, args


@contextlib.contextmanager
def served(root: Path, login: str) -> Iterator[str]:
    """Its address without the login, "http://127.0.0.1:PORT"."""
    handler = type("Handler", (_Handler,), {"root": root, "login": login})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


PASSWORD = "hid$den *:%x"
LOGIN = f"me:{PASSWORD}"
QUOTED = f"me:{quote(PASSWORD, safe='')}"
needs_git = pytest.mark.skipif(not AVAILABLE, reason="needs git with its http-backend")


@pytest.mark.parametrize(
    ("address", "clean", "value"),
    [
        ("https://me:p%40ss@h.org:8/x", "https://h.org:8/x", "me:p@ss"),
        ("https://opaque@h.org/x", "https://h.org/x", "opaque"),
        ("https://:opaque@h.org/x", "https://h.org/x", ":opaque"),
        ("https://h.org/x@1", "https://h.org/x@1", None),
        ("ssh://git:word@h.org/x", "ssh://git@h.org/x", None),
        ("ssh://alex@h.org/x", "ssh://alex@h.org/x", None),
        ("git@github.com:x/y.git", "git@github.com:x/y.git", None),
        ("file:///a b/c", "file:///a b/c", None),
    ],
)
def test_a_login_is_taken_out_of_an_address(address: str, clean: str, value: str | None) -> None:
    found, held = git.split_login(address)
    assert found == clean
    assert (held.value if held else None) == value
    assert "opaque" not in repr(held)


@pytest.mark.parametrize(
    "address",
    [
        "https://h.org/x?access_token=opaque",
        "https://h.org/x.git?sig=opaque#v1",
        "https://h.org/glpat-opaque0123456789abcdef/x",
        "https://me:opaque@[/x",
        "https:/me:opaque@h.org/x",
        "https:me:opaque@h.org/x",
        "https://me:opaque@/x",
        "git:////me:opaque@h.org/x",
        "me:opaque@h.org:x/y.git",
        "https://me:opaque%0apath=x@h.org/x",
    ],
)
def test_a_secret_in_an_odd_place_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(UserError) as refused:
        planner.plan(Order(recipe="cuda-extension", source=address), machines.linux(tmp_path))
    assert "opaque" not in str(refused.value)
    assert "TRITONWIN_LOGIN_EXAMPLE_ORG" in refused.value.help


def test_an_archive_by_its_address_is_not_shown_with_its_token(tmp_path: Path) -> None:
    for address in ("https://me:opaque@h.org/x.zip", "https://me:opaque@h.org/x.tar.gz?a=b"):
        with pytest.raises(UserError, match="no hash is known") as refused:
            planner.plan(Order(recipe="cuda-extension", source=address), machines.linux(tmp_path))
        assert "opaque" not in str(refused.value)


def planned(tmp_path: Path, address: str, **variables: str) -> BuildPlan:
    machine = machines.linux(tmp_path)
    data = {**machine.host.env.data, **variables}
    host = replace(machine.host, env=replace(machine.host.env, data=data))
    (tmp_path / "bin" / "git").touch()
    order = Order(recipe="cuda-extension", source=address, ref="main", root=tmp_path / "root")
    return planner.plan(order, replace(machine, host=host))


def test_a_plan_names_the_variable_instead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = planned(tmp_path, f"https://{QUOTED}@example.org/x")
    assert made.source.location == "https://example.org/x"
    print_build_plan(made)
    made.layout.root.mkdir(parents=True)
    write_plan(made)
    wheel = tmp_path / "x.whl"
    wheel.touch()
    texts = [
        capsys.readouterr().out,
        made.layout.plan.read_text(),
        *(json.dumps(to_json(each))
          for each in (BuildReport(status="planned", plan=made), describe(made, wheel, (), {}))),
        *(script(replace(made, windows=shell == "cmd"), shell, Host.this_machine(), ["prepare"])
          for shell in get_args(Shell)),
    ]  # fmt: skip
    for text in texts:
        assert "TRITONWIN_LOGIN_EXAMPLE_ORG" in text
        assert quote(PASSWORD, safe="") not in text
        assert PASSWORD not in text


def test_the_same_build_with_another_password_is_the_same_build(tmp_path: Path) -> None:
    one, other = (planned(tmp_path, f"https://me:{w}@example.org/x") for w in ("one", "other"))
    assert one == other


def test_a_login_may_be_given_by_the_variable_alone(tmp_path: Path) -> None:
    address = "https://example.org/x"
    assert planned(tmp_path, address).source.login == ""
    made = planned(tmp_path, address, TRITONWIN_LOGIN_EXAMPLE_ORG=LOGIN)
    assert (made.source.login, made.source.helpers) == ("TRITONWIN_LOGIN_EXAMPLE_ORG", False)
    # a name alone may be a user whose password git's own helpers know
    made = planned(tmp_path, "https://alex@example.org/x")
    assert (made.source.login, made.source.helpers) == ("TRITONWIN_LOGIN_EXAMPLE_ORG", True)


def test_the_build_itself_gets_no_login(tmp_path: Path) -> None:
    made = planned(tmp_path, "https://example.org/x", TRITONWIN_LOGIN_EXAMPLE_ORG=LOGIN)
    host = replace(Host.this_machine())
    host = replace(host, env=replace(host.env, data={"TRITONWIN_LOGIN_EXAMPLE_ORG": LOGIN}))
    assert LOGIN not in command.inherited(made, host).values()
    lines = script(made, "sh", host, ["prepare"]).splitlines()
    gone = lines.index("unset TRITONWIN_LOGIN_EXAMPLE_ORG || true")
    assert lines.index("prepare") < gone < len(lines) - 1


def test_the_login_of_the_command_line_reaches_git_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"https://{QUOTED}@example.org/x"
    machine = machines.linux(tmp_path)
    monkeypatch.setattr("tritonwin.build.order.survey", lambda *_, **__: machine)
    monkeypatch.setattr(build_wheel, "find_pip", lambda *_: NOBODY.pip)
    order = Order(recipe="cuda-extension", source=address)
    context = build_wheel.prepare(order, machine.facts, machine.host).context(print)
    assert context.logins == {"TRITONWIN_LOGIN_EXAMPLE_ORG": LOGIN}
    assert PASSWORD not in repr(context)


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a repository, with a submodule, for which the server asks for the login."""
    for name, value in {**ALLOW_FILES, "GIT_ALLOW_PROTOCOL": "file:http"}.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "repositories"
    commit(root / "inner", {"inner.h": "inner"})
    commit(root / "x", {"setup.py": "print('built')"})
    call_git(root / "x", "submodule", "--quiet", "add", (root / "inner").as_uri(), "inner")
    with served(root, LOGIN) as address:
        modules = (root / "x/.gitmodules").read_text()
        modules = modules.replace((root / "inner").as_uri(), f"{address}/inner/.git")
        commit(root / "x", {".gitmodules": modules})
        yield f"{address}/x/.git"


def fetched(root: Path, address: str, value: str | None = None, **more: Any) -> BuildPlan:
    """With the value of the variable that holds the login."""
    fields = {"submodules": (".",), "login": git.login_variable(address), **more}
    logins = {fields["login"]: value} if value else None
    return laid_down(root, kind="git", location=address, logins=logins, **fields)


def holding(folder: Path, word: str) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]


@needs_git
def test_git_gets_the_login_and_keeps_it_nowhere(tmp_path: Path, private: str) -> None:
    root = tmp_path / "root"
    with pytest.raises(SourceError, match=r"login for .* is not known") as refused:
        fetched(root, private)
    assert git.login_variable(private) in refused.value.help
    with pytest.raises(SourceError, match="git fetch failed") as failed:
        fetched(root, private, "me:wrong-word")
    assert "wrong-word" not in str(failed.value)
    assert list(root.iterdir()) == []
    made = fetched(root, private, LOGIN)
    assert (made.layout.source / "inner/inner.h").read_text() == "inner"
    assert holding(root, PASSWORD) == []


@needs_git
def test_a_token_alone_is_a_login(tmp_path: Path) -> None:
    commit(tmp_path / "repositories/x", {"setup.py": ""})
    with served(tmp_path / "repositories", "opaque:opaque") as address:
        root, named = tmp_path / "root", f"{address}/x/.git"
        made = fetched(root, named, "opaque", submodules=(), helpers=True)
    assert (made.layout.source / "setup.py").is_file()


@needs_git
def test_no_other_host_gets_the_login(tmp_path: Path, private: str) -> None:
    here = private.replace("127.0.0.1", "localhost")
    # the repository is fetched from localhost, its submodule from 127.0.0.1
    with pytest.raises(SourceError, match="git submodule failed"):
        fetched(tmp_path / "root", here, LOGIN, login=git.login_variable(private))


def test_what_pip_and_a_build_say_is_told_without_secrets(tmp_path: Path) -> None:
    said = b"ERROR: HTTP 403 for https://me:opaque@h.org/x.whl?sig=opaque"
    assert "opaque" not in pip.last_words(Completed(1, b"", said))
    log = tmp_path / "build.log"
    log.write_bytes(
        b"[1/2] a\nFAILED: [code=2] x.o\ncc x\ngit clone https://me:opaque@h.org/x\n"
        b"ImportError: DLL load failed: API_TOKEN=opaque https://me:opaque@h.org/y\n"
    )
    steps = attempt.failed_step(log)
    assert any("git clone" in line.text for line in steps)
    with log.open("rb") as stream:
        found = explain_stream(stream, None)
    evidence = [e for p in found.problems for e in p.evidence]
    shown = [*steps, *evidence, *found.known, *found.suspicious]
    assert not any("opaque" in line.text for line in shown)
