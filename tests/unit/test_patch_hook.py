"""The import hook in a Python of its own, with a small Triton that has what the rules look for."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from trees import write

from tritonwin.facts.torch_triton import HOOK, HOOK_START
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook import install
from tritonwin.patch.hook.install import generate

COMPILER = """\
import os, tempfile


def make_cubin(src):
    with tempfile.NamedTemporaryFile(delete=False, suffix='.ptx') as fsrc, \\
        tempfile.NamedTemporaryFile(delete=False, suffix='.log') as flog:
        os.remove(fsrc.name)
        os.remove(flog.name)
    return "cubin"


def fail():
    raise RuntimeError("here")
"""
DRIVER = '''\
import os
from pathlib import Path
dirname = os.path.dirname(os.path.realpath(__file__))


def utils():
    return Path(os.path.join(dirname, "driver.c")).read_text()


def make_launcher():
    return f"""
#include <dlfcn.h>
int main() {{}}
"""


def fail():
    raise RuntimeError("here")
'''
DRIVER_C = '#include "cuda.h"\n#include <dlfcn.h>\nint main(void) { return 0; }\n'
LOADER = """\
import importlib.util, os


def _load_module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


driver = _load_module("nvidia", os.path.join(os.path.dirname(__file__), "nvidia", "driver.py"))
"""
TRITON = {
    "triton/__init__.py": "",
    "triton/backends/__init__.py": "",
    "triton/backends/nvidia/__init__.py": "",
    "triton/backends/nvidia/compiler.py": COMPILER,
    "triton/backends/nvidia/driver.py": DRIVER,
    "triton/backends/nvidia/driver.c": DRIVER_C,
}
NVIDIA = (
    "import triton.backends.nvidia.compiler as compiler, triton.backends.nvidia.driver as driver;"
)
PATCHED = NVIDIA + "print('close' in compiler.make_cubin.__code__.co_names)"
SOURCE = NVIDIA + "print('<windows.h>' in driver.utils())"
# those that look at the files above; what rules make of Triton's own files is not tested here
THREE = ("temp-files", "dlfcn", "dlfcn-launcher")
TRUSTING = RuleChoice(only=THREE, allow_unknown=True)
STRICT = RuleChoice(only=THREE, allow_unknown=False)


@dataclass
class Target:
    """A site-packages with the hook in it, and the Python that starts with it."""

    site: Path

    def hook(self, choice: RuleChoice | None = TRUSTING, *, driver: bool = False) -> None:
        for name, content in generate(choice, driver=driver).items():
            (self.site / name).write_bytes(content)

    def unhook(self) -> None:
        for name in (HOOK, HOOK_START):
            (self.site / name).unlink()

    def run(
        self, code: str, *options: str, before: str = "", **env: str
    ) -> subprocess.CompletedProcess[str]:
        start = f"{before}\nimport site, sys; site.addsitedir({str(self.site)!r})\n{code}"
        return subprocess.run(
            [sys.executable, "-I", *options, "-c", start],
            capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env},
        )  # fmt: skip

    def say(self, code: str, *options: str, **env: str) -> str:
        """The output of the code; nothing else may be said."""
        done = self.run(code, *options, **env)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.strip()

    @property
    def file(self) -> Path:
        return self.site / "triton/backends/nvidia/compiler.py"

    def kept(self) -> list[Path]:
        return sorted((self.site / "__pycache__").glob("_tritonwin_hook.*.bin"))


@pytest.fixture
def target(tmp_path: Path) -> Target:
    site = tmp_path / "Mit Leerzeichen äß" / "site-packages"
    write(site, TRITON)
    made = Target(site)
    made.hook()
    return made


def test_sources_are_patched_and_no_file_of_triton_changes(target: Target) -> None:
    before = {path: path.read_bytes() for path in (target.site / "triton").rglob("*.*")}
    assert target.say(PATCHED) == "True"
    assert {path: path.read_bytes() for path in before} == before


def test_neither_a_pyc_of_the_original_nor_one_of_ours_gets_in_the_way(target: Target) -> None:
    target.unhook()
    assert target.say(PATCHED) == "False"
    target.hook()
    assert target.say(PATCHED) == "True"
    target.unhook()
    assert target.say(PATCHED) == "False"


RULES_RAN = NVIDIA + "print('_tritonwin_patch.rules' in sys.modules, 'tritonwin' in sys.modules)"


def test_rules_run_once_a_content(target: Target) -> None:
    assert target.say(RULES_RAN) == "True False"
    assert target.say(RULES_RAN) == "False False"
    target.file.write_text(COMPILER + "\n# another release\n")
    assert target.say(RULES_RAN) == "True False"
    assert target.say(PATCHED) == "True"


def test_a_damaged_result_is_made_anew(target: Target) -> None:
    target.say(PATCHED)
    assert target.kept()
    for path in target.kept():
        path.write_bytes(path.read_bytes()[:-7])
    assert target.say(PATCHED) == "True"
    assert target.say(RULES_RAN) == "False False"


@pytest.mark.parametrize("options", [(), ("-B",)], ids=["nothing can be written", "no bytecode"])
def test_nothing_is_kept_where_nothing_may_be(target: Target, options: tuple[str, ...]) -> None:
    cache = target.site / "__pycache__"
    if not options:
        cache.write_text("a file of that name")
    assert target.say(PATCHED, *options) == "True"
    assert target.say(SOURCE, *options) == "True"
    assert not cache.is_dir()


def test_tracebacks_show_the_lines_on_disk(target: Target) -> None:
    line = DRIVER.split("\n").index("def fail():") + 2
    done = target.run(NVIDIA + "driver.fail()")
    assert f'driver.py", line {line}, in fail\n    raise RuntimeError("here")' in done.stderr
    # the launcher's template grew by thirty lines above it
    assert "<windows.h>" in target.say(NVIDIA + "print(driver.make_launcher())")


def test_a_c_source_is_read_from_a_patched_copy(target: Target) -> None:
    source = target.file.with_name("driver.c")
    source.write_bytes(DRIVER_C.replace("\n", "\r\n").encode())
    code = NVIDIA + "print(driver.utils())"
    assert "#include <windows.h>" in target.say(code)
    assert target.say(code).count("#include <windows.h>") == 1
    assert source.read_bytes() == DRIVER_C.replace("\n", "\r\n").encode()


def test_backends_loaded_by_their_path(target: Target) -> None:
    (target.site / "triton/backends/__init__.py").write_text(LOADER)
    code = "import triton.backends as b; print('<windows.h>' in b.driver.utils() + b.driver.make_launcher())"
    assert target.say(code) == "True"
    both = "import triton.backends as b, triton.backends.nvidia.driver as d; print(d is b.driver, '<windows.h>' in d.utils())"
    assert target.say(both) == "False True"


def test_what_is_patched_on_disk_is_left_alone(target: Target) -> None:
    marked = COMPILER.replace(
        "os.remove(fsrc.name)", "os.remove(fsrc.name)  # tritonwin:temp-files"
    )
    target.file.write_text(marked)
    assert target.say(PATCHED) == "False"


@pytest.mark.parametrize("text", [DRIVER_C + "/* tritonwin:dlfcn */\n", "int main(void);\n"])
def test_a_c_source_with_nothing_to_do_is_read_itself(target: Target, text: str) -> None:
    """One that is patched on disk, and one in which no rule finds its place."""
    target.file.with_name("driver.c").write_text(text)
    assert target.say(SOURCE) == "False"


def test_a_module_in_another_place_is_another_module(target: Target) -> None:
    """A later Triton may make a package of what was a file; its rules do not know that."""
    (target.site / "triton/backends/nvidia/compiler").mkdir()
    target.file.rename(target.site / "triton/backends/nvidia/compiler/__init__.py")
    assert target.say(PATCHED) == "False"


def test_a_backend_of_others_is_loaded_by_its_path_as_before(target: Target) -> None:
    other = target.site / "triton/backends/other"
    other.mkdir()
    (other / "driver.py").write_text("def utils():\n    return 'theirs'\n")
    loader = LOADER.replace('"nvidia"', '"other"')
    (target.site / "triton/backends/__init__.py").write_text(loader)
    assert target.say("import triton.backends as b; print(b.driver.utils())") == "theirs"


def test_unknown_content_is_left_alone_and_said_once(target: Target) -> None:
    target.hook(STRICT)
    for _ in range(2):
        done = target.run(PATCHED + "; import importlib; importlib.reload(compiler)")
        assert done.stdout == "False\n"
        assert (
            done.stderr.count("compiler.py: not patched, its content is that of no known release")
            == 1
        )


def test_a_form_that_a_rule_does_not_know_is_said(target: Target) -> None:
    target.file.write_text(COMPILER.replace("        os.remove(flog.name)\n", ""))
    done = target.run(PATCHED)
    assert done.stdout == "False\n"
    assert "tritonwin: triton/backends/nvidia/compiler.py: rule temp-files: " in done.stderr


def _cut(data: bytes, after: bytes, more: int = 0) -> bytes:
    return data[: data.index(after) + len(after) + more]


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "NULs": lambda data: bytes(len(data)),
    "NULs at the end": lambda data: data[: len(data) // 2] + bytes(len(data) // 2),
    "cut in the docstring": lambda data: data[:100],
    "cut in the imports": lambda data: _cut(data, b"from importlib"),
    "cut in the settings": lambda data: _cut(data, b"SETTINGS: dict[str, Any] = ", 40_000),
    "cut in a class": lambda data: _cut(data, b"class Finder:"),
    "cut in a function": lambda data: _cut(data, b"def report() -> dict[str, Any]:\n", 20),
    "packed rules cut": lambda data: data.replace(b"'_tritonwin_patch': 'c", b"'_tritonwin_patch': 'd"),
    "other settings": lambda data: data.replace(b"'modules': {", b"'Modules': {"),
    "no rules inside": lambda data: data.replace(b"'_tritonwin_patch': 'c", b"'_tritonwin_p': 'c"),
    "not UTF-8": lambda data: b"\xff\xfe" + data,
    "one that ends the program": lambda data: b"raise SystemExit(3)\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", SPOILT)
@pytest.mark.parametrize("options", [(), ("-W", "error")])
def test_a_damaged_hook_breaks_no_start_and_says_one_line(
    target: Target, kind: str, options: tuple[str, ...]
) -> None:
    """Python starts it twice, as `site` does in a venv."""
    hook = target.site / HOOK
    hook.write_bytes(SPOILT[kind](hook.read_bytes()))
    twice = f"site.addsitedir({str(target.site)!r})\n"
    done = target.run(twice + PATCHED + "; import wave", *options)
    assert (done.returncode, done.stdout) == (0, "False\n")
    assert re.fullmatch(r"tritonwin: [^\n]{,250} tritonwin patch revert\n", done.stderr)


def test_damaged_bytecode_of_the_hook_breaks_no_start(target: Target) -> None:
    assert target.say(PATCHED) == "True"
    (compiled,) = (target.site / "__pycache__").glob("_tritonwin_hook.cpython-*.pyc")
    compiled.write_bytes(compiled.read_bytes()[:200])
    done = target.run(PATCHED)
    assert done.returncode == 0
    assert re.fullmatch(r"(tritonwin: [^\n]{,250} tritonwin patch revert\n)?", done.stderr)


STREAMS = {
    "none": "import sys; sys.stderr = None",
    "closed": "import sys; sys.stderr.close()",
    "without write": "import sys; sys.stderr = object()",
    "raising": "import sys\nclass Raises:\n def __getattr__(self, name): raise OSError\nsys.stderr = Raises()",
    "full": "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 2)",
    "descriptor closed": "import os; os.close(2)",
}


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("stream", STREAMS)
def test_an_error_stream_that_takes_nothing_breaks_no_import(
    target: Target, stream: str, damaged: bool
) -> None:
    if stream == "full" and not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    target.hook(STRICT)  # which has something to say of these sources
    if damaged:
        (target.site / HOOK).write_bytes(b"\0" * 1000)
    hooked = target.run(PATCHED, before=STREAMS[stream])
    target.unhook()
    alone = target.run(PATCHED, before=STREAMS[stream])
    said = [(done.returncode, done.stdout, done.stderr) for done in (hooked, alone)]
    assert said[0] == said[1]  # Python's own exit status is 120 where it cannot flush the stream


def test_a_source_that_is_no_python_fails_as_without_the_hook(target: Target) -> None:
    target.file.write_text("def broken(:\n")
    done = target.run(PATCHED)
    assert "SyntaxError" in done.stderr.splitlines()[-1]


def test_loaders_of_others_are_left_in_place(target: Target) -> None:
    done = target.run(OTHERS_START + OTHERS["loads"] + PATCHED)
    assert done.stdout == "False\n"
    assert "is not patched: Loader loads it" in done.stderr


def test_a_line_that_starts_a_hook_that_is_gone_does_nothing(target: Target) -> None:
    (target.site / HOOK).unlink()
    assert target.say(PATCHED) == "False"


def test_only_the_chosen_rules_are_applied(target: Target) -> None:
    target.hook(RuleChoice(only=("dlfcn",), allow_unknown=True))
    assert target.say(PATCHED) == "False"
    code = NVIDIA + "print('<windows.h>' in driver.utils(), 'windows' in driver.make_launcher())"
    assert target.say(code) == "True False"


def test_verbose_says_what_is_patched(target: Target) -> None:
    # the variable would not reach an isolated Python otherwise: -I ignores PYTHON* alone
    done = target.run(PATCHED, TRITON_VERBOSE="1")
    assert "tritonwin: triton/backends/nvidia/compiler.py is patched: temp-files\n" in done.stderr


REPORT = "import _tritonwin_hook as hook, json; print(json.dumps(hook.report()))"


def _report(target: Target, code: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(target.say(code + REPORT))
    return report


def test_report(target: Target) -> None:
    report = _report(target, NVIDIA)
    assert report["files"]["backends/nvidia/compiler.py"] == {
        "applied": ["temp-files"],
        "wrong": "",
    }


AS_A_PROGRAM = "import runpy; runpy.run_module('_tritonwin_hook', run_name='__main__')"


def test_it_reports_as_a_program(target: Target) -> None:
    done = target.run(AS_A_PROGRAM, "-W", "ignore")
    report = json.loads(done.stdout)
    assert list(report["files"]) == ["backends/__init__.py"]
    assert done.stderr == ""
    (target.site / "triton/__init__.py").write_text("raise RuntimeError('broken')\n")
    done = target.run(AS_A_PROGRAM, "-W", "ignore")
    assert json.loads(done.stdout)["files"] == {}
    assert done.stderr == "tritonwin: Triton cannot be imported: RuntimeError('broken')\n"


def test_other_modules_cost_a_dictionary_look_up(target: Target) -> None:
    """Held against a Python without the hook: what measures coverage imports modules as well."""
    codes = [f"import wave, {more}json; print(json.dumps(sorted(sys.modules)))"
             for more in ("", "triton, ")]  # fmt: skip
    hooked = [set(json.loads(target.say(code))) for code in codes]
    target.unhook()
    without, added = (
        h - set(json.loads(target.say(c))) for h, c in zip(hooked, codes, strict=True)
    )
    assert without == set()
    assert "_tritonwin_hook" in added
    assert not any(name.startswith(("_tritonwin_patch", "hashlib", "difflib")) for name in added)


# -- the driver that the hook carries, here a stand-in of a few lines


STAND_IN = """\
def adopt(module):
    from standin.texts import HELLO
    if not hasattr(module, "utils"):
        raise RuntimeError("no such driver")
    module.utils = lambda: HELLO
    return "" if hasattr(module, "make_launcher") else "no launcher"
"""
CALLED = NVIDIA + "print(driver.utils(), 'close' in compiler.make_cubin.__code__.co_names)"
DRIVER_FILE = "backends/nvidia/driver.py"


@pytest.fixture
def carrying(target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    files = {"__init__.py": "", "adopt.py": STAND_IN, "texts.py": "HELLO = 'hello'\n"}
    write(tmp_path / "library", {f"standin/{name}": text for name, text in files.items()})
    monkeypatch.syspath_prepend(tmp_path / "library")
    monkeypatch.delitem(sys.modules, "standin", raising=False)  # an earlier test's, elsewhere
    monkeypatch.setitem(install._PARTS, "_tritonwin_driver", ("standin", tuple(files)))
    return target


@pytest.mark.parametrize("choice", [TRUSTING, None])
def test_the_driver_is_handed_its_module_with_and_without_rules(
    carrying: Target, choice: RuleChoice | None
) -> None:
    carrying.hook(choice, driver=True)
    for _ in range(2):
        assert carrying.say(CALLED) == f"hello {choice is not None}"
    report = _report(carrying, NVIDIA)
    assert report["driver"] == {DRIVER_FILE: ""}
    assert (list(report["files"]) == ["backends/__init__.py"]) is (choice is None)


def test_the_driver_reaches_backends_that_are_loaded_by_their_path(carrying: Target) -> None:
    (carrying.site / "triton/backends/__init__.py").write_text(LOADER)
    carrying.hook(None, driver=True)
    assert carrying.say("import triton.backends as b; print(b.driver.utils())") == "hello"


OTHERS_START = "import importlib.util, sys\nfrom importlib import machinery\nseen = []\n"
# an import hook of somebody else: it notes each module of Triton that passes through it
OTHERS = {
    "wraps": """
class Loader:
    def __init__(self, loader):
        self.loader = loader
    def __getattr__(self, name):
        return getattr(self.loader, name)
    def exec_module(self, module):
        seen.append(module.__name__)
        self.loader.exec_module(module)
class Finder:
    busy = False
    def find_spec(self, name, path=None, target=None):
        if self.busy or not name.startswith("triton"):
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        spec.loader = Loader(spec.loader)
        return spec
sys.meta_path.insert(0, Finder())
""",
    "finds": """
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = machinery.PathFinder.find_spec(name, path, target)
        if spec and name.startswith("triton"):
            seen.append(name)
        return spec
sys.meta_path.insert(0, Finder)
""",
    "loads": """
class Loader(machinery.SourceFileLoader):
    def exec_module(self, module):
        if self.name.startswith("triton"):
            seen.append(self.name)
        super().exec_module(module)
compiled = (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES)
sys.path_hooks.insert(0, machinery.FileFinder.path_hook(compiled, (Loader, [".py"])))
sys.path_importer_cache.clear()
""",
    "imports": "import triton.backends.nvidia.driver; seen.append('imported')",
}


@pytest.mark.parametrize("first", ["a", "z"])
@pytest.mark.parametrize("kind", OTHERS)
def test_import_hooks_of_others_see_what_they_see_without_this_one(
    carrying: Target, kind: str, first: str
) -> None:
    """Started by a .pth before ours and after it."""
    (carrying.site / "others.py").write_text(OTHERS_START + OTHERS[kind])
    (carrying.site / "triton/backends/__init__.py").write_text(
        "import triton.backends.nvidia.driver"
    )
    (carrying.site / f"{first}-others.pth").write_text("import others\n")
    seen = NVIDIA + "import others; print(driver.utils()[:5], others.seen)"
    carrying.unhook()
    alone = carrying.say(seen).partition(" ")
    assert (alone[0] != "hello", len(alone[2]) > 5) == (True, True)
    carrying.hook(None, driver=True)
    report = json.loads(carrying.say(AS_A_PROGRAM, "-W", "ignore"))
    if (kind, first) == ("finds", "z"):  # it answers before anybody else is asked
        assert "another import hook" in report["driver"][DRIVER_FILE]
        assert carrying.say(seen).partition(" ")[0] == alone[0]
    else:
        assert report["driver"] == {DRIVER_FILE: ""}
        assert carrying.say(seen).partition(" ")[::2] == ("hello", alone[2])


def test_carried_packages_are_compiled_once(carrying: Target) -> None:
    carrying.hook(None, driver=True)
    count = "import zlib; real, made = zlib.decompress, []\n"
    # Python itself reads what lies in python312.zip, and then names the form
    count += "zlib.decompress = lambda data, *form: made.append(form) or real(data, *form)\n"
    code = f"{count}{NVIDIA}print(() in made)"
    assert [carrying.say(code), carrying.say(code)] == ["True", "False"]


def test_a_driver_that_fails_leaves_the_module_as_it_is(carrying: Target) -> None:
    carrying.hook(TRUSTING, driver=True)
    (carrying.site / "triton" / DRIVER_FILE).write_text("utils_of_c = 1\n")
    done = carrying.run(NVIDIA + "print(driver.utils_of_c)")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert done.stderr == (
        "tritonwin: Triton's driver does not run in Python: RuntimeError('no such driver')\n"
    )


def test_why_a_driver_is_not_taken_over_is_in_the_report(carrying: Target) -> None:
    carrying.hook(None, driver=True)
    (carrying.site / "triton" / DRIVER_FILE).write_text("utils = None\n")
    assert _report(carrying, NVIDIA)["driver"] == {DRIVER_FILE: "no launcher"}


def test_the_same_rules_give_the_same_bytes() -> None:
    assert generate(TRUSTING) == generate(TRUSTING)
    assert generate(TRUSTING) != generate(STRICT)


def test_all_that_is_carried_is_valid_on_python_3_9() -> None:
    files = generate(TRUSTING)
    ast.parse(files[HOOK], feature_version=(3, 9))
    package = Path(__file__).parents[2] / "src/tritonwin/patch"
    carried = [
        *(package / name for name in ("edits.py", "engine.py", "hook/apply.py")),
        *package.glob("rules/*.py"),
        *package.glob("payload/*.py"),
    ]
    assert len(carried) > 6
    for path in carried:
        ast.parse(path.read_text("utf-8"), feature_version=(3, 9))
