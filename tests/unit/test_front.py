"""The local page: who is let in, and what it does, over real sockets."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fix_world import World, proof
from fronts import Front, repairable, served, setting_of
from hosts import MemoryRegistry, fake_host
from killing import CAN_FORK, killed_at
from page_client import FORM, question_of
from trees import tree_hash

from tritonwin.facts.system import STORED
from tritonwin.front import desk
from tritonwin.front import server as serving
from tritonwin.front.door import Door

GOOD = ("failed", "passed")  # the proofs before and after


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return repairable(tmp_path, monkeypatch)


@pytest.fixture
def front(world: World) -> Iterator[Front]:
    with served(world) as ready:
        yield ready


def asking(front: Front) -> tuple[str, str]:
    """A plan is on the page: its path, and the id of its question."""
    task = front.act("fix")
    return task, question_of(front.until(task, "Do it"))


# --- who is let in

EVIL = "http://evil.example"
# method, path below the secret (None: another secret), headers; each is refused
REFUSED: dict[str, tuple[str, str | None, dict[str, str | None]]] = {
    "another origin": ("POST", "fix", {"Origin": EVIL}),
    "another port of this machine": ("POST", "fix", {"Origin": "http://127.0.0.1:8188"}),
    "a sandboxed frame": ("POST", "fix", {"Origin": "null"}),
    "a form without an origin": ("POST", "fix", {"Origin": None}),
    "a form of another site": ("POST", "fix", {"Sec_Fetch_Site": "cross-site"}),
    "a form of another port": ("POST", "fix", {"Sec_Fetch_Site": "same-site"}),
    "an address that was typed": ("POST", "fix", {"Sec_Fetch_Site": "none"}),
    "a script of another site": ("GET", "", {"Origin": EVIL, "Sec_Fetch_Site": "cross-site"}),
    "a picture of another site": ("GET", "snapshot", {"Sec_Fetch_Site": "cross-site"}),
    "DNS rebinding": ("GET", "", {"Host": "evil.example"}),
    "DNS rebinding with the port": ("POST", "fix", {"Host": "evil.example:80", "Origin": EVIL}),
    "the other name of this machine": ("GET", "", {"Host": "localhost"}),
    "no host": ("GET", "", {"Host": None}),
    "no secret": ("GET", None, {"path": "/"}),
    "a guessed secret": ("POST", None, {"path": f"/{secrets.token_urlsafe(32)}/fix"}),
    "the events without the secret": ("GET", None, {"path": "/events"}),
    "traversal": ("GET", None, {"path": "/../../etc/passwd"}),
    "an absolute address": ("GET", None, {"path": "http://evil.example/"}),
    "another method": ("PUT", "fix", {}),
    "a question first": ("OPTIONS", "fix", {"Origin": EVIL}),
    "JSON": ("POST", "fix", {"Content_Type": "application/json"}),
    "plain text": ("POST", "fix", {"Content_Type": "text/plain"}),
    "no length": ("POST", "fix", {"Content_Length": None}),
    "a length that is none": ("POST", "fix", {"Content_Length": "+1"}),
    "a huge length": ("POST", "fix", {"Content_Length": "9" * 30}),
    "chunks": ("POST", "fix", {"Transfer_Encoding": "chunked"}),
    "a long header": ("GET", "", {"X_Long": "x" * 70_000}),
    "many headers": ("GET", "", {f"X_{n}": "x" for n in range(200)}),
}
BELOW = ("..%2f..%2fetc/passwd", "../../etc/passwd", "page.css/../desk.py", "task/0", "task/-1",
         "task/99999999999999999999", "task/²", "explain/", "\\..\\..", "x" * 5000)  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(front: Front, world: World, name: str) -> None:
    method, path, headers = REFUSED[name]
    before = tree_hash(world.tmp_path)
    named = headers.get("path")
    headers = {k: v for k, v in headers.items() if k != "path"}
    answer = front.raw(method, named or f"{front.server.root}{path}", b"", **headers)
    assert 400 <= answer.status < 600, answer
    assert front.server.root not in answer.text
    assert front.desk.tasks == {}
    assert tree_hash(world.tmp_path) == before
    assert front.ask("GET", "explain").status == 200


@pytest.mark.parametrize("path", BELOW, ids=range(len(BELOW)))
def test_no_address_names_a_file(front: Front, path: str) -> None:
    with contextlib.suppress(UnicodeEncodeError):
        assert front.ask("GET", path.encode().decode("latin-1")).status == 404


def test_the_ticket_is_good_for_one_request(front: Front) -> None:
    path = front.address.removeprefix(front.origin)
    first = front.raw("GET", path, Sec_Fetch_Site="none")
    assert (first.status, first.headers["Location"]) == (303, front.server.root)
    assert front.raw("GET", path, Sec_Fetch_Site="none").status == 403
    assert front.server.server_address[0] == "127.0.0.1"
    # nor is the secret itself ever shown where others may look
    assert front.server.root.strip("/") not in front.address


def test_a_page_may_load_nothing_from_elsewhere(front: Front) -> None:
    for path in ("", "explain", "install", "changes", "nothing", "page.js", "page.css"):
        answer = front.ask("GET", path)
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert not re.search(r"\bstyle=|\bon\w+=|<script>|<style>", answer.text)
    assert not any("Access-Control" in name for name in answer.headers)


def test_a_body_that_is_too_long(front: Front) -> None:
    with contextlib.suppress(OSError):  # it hangs up before all has come
        assert front.ask("POST", "install", {"given": "x" * 70_000}).status == 413
    assert front.desk.tasks == {}
    many = "&".join(f"a{n}=1" for n in range(1000))
    assert front.raw("POST", f"{front.server.root}fix", many).status == 400
    assert front.raw("POST", f"{front.server.root}fix", b"\xff\xfe").status == 400


def connected(front: Front) -> socket.socket:
    return socket.create_connection(("127.0.0.1", front.server.server_address[1]), timeout=30)


def test_slow_clients_are_dropped(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps no connection, neither in the headers nor in the form."""
    monkeypatch.setattr(serving, "_PATIENCE", 1.0)
    head = (
        f"POST {front.server.root}fix HTTP/1.1\r\nHost: {front.server.origin[7:]}\r\n"
        f"Origin: {front.server.origin}\r\nContent-Type: {FORM}\r\nContent-Length: 1000\r\n\r\n"
    )
    for begin in ("GET / HTTP/1.1\r\nX: ", head):
        with connected(front) as slow:
            slow.sendall(begin.encode())
            began = time.monotonic()
            with contextlib.suppress(OSError):
                while time.monotonic() - began < 20:
                    slow.sendall(b"x")
                    time.sleep(0.1)
            assert time.monotonic() - began < 10
    assert front.desk.tasks == {}


def test_strangers_do_not_keep_the_page_out(front: Front) -> None:
    """More connections than there are places, which say nothing."""
    strangers = [connected(front) for _ in range(120)]
    began = time.monotonic()
    assert front.ask("GET", "explain").status == 200
    assert time.monotonic() - began < 5
    assert len(front.server._open) <= 32
    for each in strangers:
        each.close()


def test_a_hundred_clients_at_the_same_time(front: Front, world: World) -> None:
    before = tree_hash(world.root)

    def ask(number: int) -> int:
        path = f"/{secrets.token_urlsafe(32)}/fix" if number % 2 else "/"
        try:
            return front.raw("POST", path, b"a=b").status
        except OSError:
            return 0  # dropped for a newer one

    with ThreadPoolExecutor(100) as clients:
        seen = set(clients.map(ask, range(400)))
    assert seen <= {0, 403}
    assert 403 in seen
    assert (front.desk.tasks, tree_hash(world.root)) == ({}, before)
    assert front.ask("GET", "explain").status == 200


def test_bytes_that_are_no_request(front: Front) -> None:
    for data in (b"\0" * 100, b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"x" * 70_000,
                 b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.1\r\n: x\r\n\r\n"):  # fmt: skip
        with connected(front) as strange, contextlib.suppress(OSError):
            strange.sendall(data)
            strange.shutdown(socket.SHUT_WR)
            answer = strange.recv(1 << 16)
            assert front.server.root.encode() not in answer
            assert b" 200 " not in answer.partition(b"\r\n")[0]
    assert front.ask("GET", "explain").status == 200


# --- what it does


def test_from_the_problem_to_the_proof_and_back(front: Front, world: World) -> None:
    before = tree_hash(world.root)
    home = front.until("", "will not work here")
    assert "script-shadows-triton" in home
    task, question = asking(front)
    page = front.until(task, "Make these changes?")
    assert str(world.shadow) in page
    assert tree_hash(world.root) == before
    assert front.act("answer", question=question, answer="yes") == task
    page = front.until(task, "Proven: it works now.")
    assert not world.shadow.exists()
    assert "nothing is wrong" in front.until("", "nothing is wrong")
    assert "applied" in front.until("changes", "applied")
    front.agree(front.act("undo"), "Everything is as it was before.")
    assert tree_hash(world.root) == before
    assert "undone" in front.until("changes", "undone")


def test_an_answer_is_good_once_and_for_the_plan_that_was_shown(front: Front, world: World) -> None:
    task, question = asking(front)
    for wrong in (secrets.token_hex(16), "", "é"):
        refused = front.ask("POST", "answer", {"question": wrong, "answer": "yes"})
        assert (refused.status, world.shadow.exists()) == (409, True)
    front.act("answer", question=question, answer="no")
    front.until(task, "Nothing was changed.")
    again = front.ask("POST", "answer", {"question": question, "answer": "yes"})
    assert (again.status, world.shadow.exists()) == (409, True)
    world.proofs = iter([proof("failed"), proof("passed")])
    later, _ = asking(front)
    again = front.ask("POST", "answer", {"question": question, "answer": "yes"})
    assert (again.status, world.shadow.exists()) == (409, True)
    assert "Waits for your answer" in front.until(later, "Waits for your answer")


def test_what_changed_since_the_plan_is_said(front: Front, world: World) -> None:
    task, question = asking(front)
    world.shadow.unlink()
    front.act("answer", question=question, answer="yes")
    page = front.until(task, "Failed")
    assert f"{world.shadow} does not exist" in page
    assert world.store.unfinished() == ()


def test_two_pages_show_one_state(front: Front, world: World) -> None:
    task, question = asking(front)
    for other in ("fix", "verify", "undo", "install", "examine"):
        refused = front.ask("POST", other)
        assert (refused.status, len(front.desk.tasks)) == (409, 1)
        assert "Waits for your answer".lower() in refused.text.lower()
    # both press it: one is the first
    with ThreadPoolExecutor(2) as pages:
        form = {"question": question, "answer": "yes"}
        seen = sorted(
            a.status for a in pages.map(lambda _: front.ask("POST", "answer", form), "12")
        )
    assert seen == [303, 409]
    front.until(task, "Proven")


def test_closing_the_page_answers_with_no(front: Front, world: World) -> None:
    task, _ = asking(front)
    assert front.ask("POST", "end").status == 200
    front.until(task, "Nothing was changed.")
    assert world.shadow.exists()


def test_closing_the_page_in_a_change_finishes_it(front: Front, world: World) -> None:
    def proofs() -> Iterator[Any]:
        yield proof("failed")
        front.ended.set()  # as when the last page is gone
        yield proof("passed")

    world.proofs = proofs()
    front.agree(front.act("fix"), "Proven: it works now.")
    assert not world.shadow.exists()
    assert [header.state for header in world.store.journals()] == ["applied"]


def test_a_task_that_fails_leaves_the_page(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("for a test")

    monkeypatch.setattr("tritonwin.front.desk.undo_change", broken)
    said = front.until(front.act("undo", given="x"), "Failed")
    assert "tritonwin itself failed: ZeroDivisionError: for a test" in said
    wrong = front.act("install", given="-r /etc/passwd")
    assert "help: " in front.until(wrong, "Failed")
    assert front.ask("GET", "explain").status == 200


def test_a_log_is_explained_and_foreign_text_stays_text(front: Front) -> None:
    log = "<script>alert(1)</script>\nModuleNotFoundError: No module named 'triton' \u202e"
    page = front.ask("POST", "explain", {"log": log}).text
    assert "triton-missing" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page  # in the text that can be corrected


def test_a_snapshot_to_download(front: Front) -> None:
    front.until("", "will not work here")
    answer = front.ask("GET", "snapshot")
    assert "attachment" in answer.headers["Content-Disposition"]
    assert json.loads(answer.text)["schema"] == "tritonwin.snapshot/1"


def test_stored_variables_count_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that the page starts after a change have the stored variables as they are then."""

    def store(user: dict[str, str], machine: dict[str, str]) -> None:
        stored = MemoryRegistry({STORED["user"]: user, STORED["machine"]: machine})
        host = fake_host(world.tmp_path, registry=stored)
        monkeypatch.setattr(desk.Host, "this_machine", lambda: host)

    for name in ("TRITON_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, "C:\\tw")
    monkeypatch.setenv("PATH", "C:\\here")
    monkeypatch.delenv("CC", raising=False)
    store({"TRITON_HOME": "C:\\tw", "CUDA_PATH": "C:\\tw"}, {})
    with Door(setting_of(world), watched=False) as door:
        store({"CC": "C:\\gone", "PATH": "C:\\new"}, {"CUDA_PATH": "C:\\all"})
        door.desk._changed()
    assert (os.environ["CC"], os.environ["CUDA_PATH"]) == ("C:\\gone", "C:\\all")
    assert "TRITON_HOME" not in os.environ
    assert os.environ["PATH"] == "C:\\here"


def repaired(world: World) -> None:
    """A server, and somebody at the page; where a fault point is hit, both are gone."""
    with Door(setting_of(world), watched=False) as door:
        front = Front(door)

        def person() -> None:
            front.agree(front.act("fix"), "Proven")
            door.ended.set()

        threading.Thread(target=person, daemon=True).start()
        door.desk.run()


@pytest.mark.skipif(not CAN_FORK, reason="the lane kills the program inside Windows")
@pytest.mark.parametrize(
    "stride", [pytest.param(7, id="some"), pytest.param(1, id="all", marks=pytest.mark.full)]
)
def test_a_server_killed_at_any_point_of_a_change(world: World, stride: int) -> None:
    before = tree_hash(world.root)
    point = 1
    while True:
        world.proofs = iter([proof("failed"), proof("passed")])
        killed = killed_at(point, lambda: repaired(world))
        with served(world) as front:
            page = front.until("", "Repair: show the plan", "Prove it")
            unfinished = [header.title for header in world.store.unfinished()]
            assert bool(re.search("<strong>(cut off|half undone)", page)) == bool(unfinished)
            assert all(title in page for title in unfinished)
            for header in world.store.journals():
                if header.state != "undone":
                    front.agree(
                        front.act("undo", given=header.id), "Everything is as it was before."
                    )
        assert tree_hash(world.root) == before, point
        if not killed:
            break
        point += stride
    assert point > 10


# --- the program


@contextlib.contextmanager
def started(home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tritonwin", "ui", "--python", sys.executable, "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=home,
        env={**os.environ, "TRITONWIN_HOME": str(home / "home")},
    ) as program:
        assert program.stdout
        address = program.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:")
        try:
            yield program, address
        finally:
            program.kill()


def get(address: str, path: str) -> socket.socket:
    host = address.split("/")[2]
    client = socket.create_connection(("127.0.0.1", int(host.split(":")[1])), timeout=30)
    client.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
    return client


def test_closing_the_page_ends_the_program(tmp_path: Path) -> None:
    with started(tmp_path) as (program, address):
        with get(address, "/" + address.split("/")[3]) as client:
            root = re.search(r"Location: (\S+)", client.recv(1 << 16).decode())
        assert root
        with get(address, f"{root[1]}events") as page:
            came = b""
            while b"data: 0" not in came:
                came += page.recv(1 << 16)
            time.sleep(1)
            assert program.poll() is None
        assert program.wait(60) == 0


def test_without_its_sdk_mcp_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; from tritonwin.cli.app import run; "
        "sys.exit(run(['mcp', '--python', sys.executable]))"
    )
    home = {**os.environ, "TRITONWIN_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=home, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "python -m pip install mcp" in done.stderr


SOMEBODY = """
import glob, http.client, sys
for file in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        said = open(file, "rb").read()
    except OSError:
        continue
    if sys.argv[1].encode() in said and file.split("/")[2] != str(__import__("os").getpid()):
        print("told by", file)
client = http.client.HTTPConnection(sys.argv[1])
client.request("POST", "/fix", "", {"Origin": "http://" + sys.argv[1]})
print(client.getresponse().status)
"""


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0 or not Path("/usr/bin/python3").exists(),
    reason="becoming another user takes root, and a Python that all may start",
)
def test_another_user_of_this_machine(tmp_path: Path) -> None:
    with started(tmp_path) as (_, address):
        words = ["/usr/bin/python3", "-c", SOMEBODY, address.split("/")[2]]
        done = subprocess.run(
            words, user=65534, group=65534, cwd="/", capture_output=True, text=True, timeout=60
        )
        assert (done.stdout, done.stderr) == ("403\n", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no such signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_program(tmp_path: Path, number: int, status: int) -> None:
    with started(tmp_path) as (program, address):
        time.sleep(1)
        program.send_signal(number)
        assert program.wait(60) == status
        with pytest.raises(OSError, match="refused"):
            get(address, "/")
