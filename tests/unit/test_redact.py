from __future__ import annotations

import json
import re
import time
import unicodedata
from pathlib import Path
from urllib.parse import quote

import pytest
from cases import cases
from hosts import JDOE, MemoryRegistry, fake_host
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.facts.redaction.rules import TABLE

ALEX = Identity(
    users=("alex", "torch"),
    homes=(r"C:\Users\Alexander Smith", r"D:\Profiles\alex"),
    hosts=("GAMING-4090", "MARTA", "PYTHON"),
    domains=("CORP", "corp.example.com"),
)


ALICE = Identity(users=("alice", "torch", "al"))
MUSTERMANN = Identity(homes=(r"D:\Profiles\Mustermann",))
PEOPLE = {"alex": ALEX, "jdoe": JDOE, "alice": ALICE, "mustermann": MUSTERMANN}
PEOPLE["literals"] = Identity(users=("2026", "null", "true"))
TEXTS = [(who, row) for who in PEOPLE for row in cases("redaction/texts.toml", who)]


@pytest.mark.parametrize(("who", "row"), TEXTS)
def test_text(who: str, row: tuple[str, ...]) -> None:
    once = Redactor(PEOPLE[who]).text(row[0])
    assert once == row[-1]
    assert Redactor(PEOPLE[who]).text(once) == once


# User names: ordinary words, one and two letters, blanks, dots, apostrophes, other scripts.
AWKWARD = (
    *("torch", "python", "user", "al", "a", "windows", "triton", "Users", "home", "AppData", "lib"),
    *("Eva Maria", "hsu.lin", "O'Brien", "Jörg", "Łukasz Żak", "张伟", "Мария", "José & Ana", "ß"),
)
invented = st.text(
    st.characters(categories=["Ll", "Lu", "Lo", "Nd"], include_characters=" .-_'"),
    min_size=1,
    max_size=20,
)
names = st.sampled_from(AWKWARD) | invented

SPELLINGS = {
    "raw": lambda n: f"C:\\Users\\{n}\\AppData\\Local",
    "forward": lambda n: f"C:/Users/{n}/AppData/Local",
    "mixed": lambda n: f"C:\\Users\\{n}/AppData/Local",
    "lower": lambda n: f"c:\\users\\{n.lower()}\\appdata",
    "upper": lambda n: f"C:\\USERS\\{n.upper()}\\APPDATA",
    "long": lambda n: f"\\\\?\\C:\\Users\\{n}\\AppData",
    "share": lambda n: f"\\\\localhost\\share\\Users\\{n}\\AppData",
    "wsl": lambda n: f"/mnt/c/Users/{n}/AppData",
    "json": lambda n: json.dumps(f"C:\\Users\\{n}\\AppData", ensure_ascii=False),
    "ascii json": lambda n: json.dumps(f"C:\\Users\\{n}\\AppData"),
    "json in json": lambda n: json.dumps(json.dumps(f"C:\\Users\\{n}\\AppData")),
    "percent": lambda n: quote(f"C:\\Users\\{n}\\AppData", safe=""),
    "percent twice": lambda n: quote(quote(f"C:\\Users\\{n}\\AppData", safe=""), safe=""),
    "url": lambda n: f"file:///C:/Users/{quote(n)}/AppData",
    "composed": lambda n: f"C:\\Users\\{unicodedata.normalize('NFC', n)}\\AppData",
    "decomposed": lambda n: f"C:\\Users\\{unicodedata.normalize('NFD', n)}\\AppData",
    "ends": lambda n: f"C:\\Users\\{n}",
    "repr": lambda n: "'{}'".format(ascii(f"C:\\Users\\{n}\\AppData")[1:-1]),
}
CONTEXTS = {
    "alone": lambda p: p,
    "quoted": lambda p: f'File "{p}", line 3, in <module>',
    "listed": lambda p: f"PATH=C:\\Windows;{p};D:\\tools",
    "flag": lambda p: f"cl.exe /nologo -I{p} a.c",
    "sentence": lambda p: f"import torch\nfound {p}\nnext line",
}


def _legal(name: str) -> bool:
    """True if a person's folder may be called so, and shows where it ends."""
    return (
        name == name.strip(" .'-")
        and "  " not in name
        and bool(name)
        and name.casefold() not in TABLE.system_accounts
        and not re.search(r"'(?!\w)", name)  # an apostrophe is told from a quote by what follows
        and not re.search(r" [^\w(&]", name)  # a command's " -flag" is no part of a name
        and not any(c in name for c in "ſK")  # these change their script when the case changes
        and unicodedata.normalize("NFC", name) == name
    )


def _marked(text: str) -> bool:
    return any(mark in text for mark in ("<user", "<üser", "u00fcser"))


@settings(deadline=None, max_examples=400)
@given(names, st.sampled_from(sorted(SPELLINGS)), st.sampled_from(sorted(CONTEXTS)), st.booleans())
@example("Eva Maria", "ends", "sentence", True)
@example("al", "json in json", "quoted", False)
def test_no_name_survives_in_any_spelling(
    name: str, spelling: str, context: str, known: bool
) -> None:
    assume(_legal(name))
    # on a share, people's folders may lie below "home\\Users"
    assume(spelling != "share" or name.casefold() != "users")
    # an unknown name with blanks has no visible end in the middle of a sentence or command
    assume(
        known
        or " " not in name
        or (spelling, context) not in {("ends", "sentence"), ("ends", "flag")}
    )
    identity = Identity(homes=(f"C:\\Users\\{name}",)) if known else Identity()
    spelled = SPELLINGS[spelling](name)
    text = CONTEXTS[context](spelled)
    redacted = Redactor(identity).text(text)
    assert _marked(redacted)
    head, _, tail = CONTEXTS[context]("\0").partition("\0")
    assert redacted.startswith(head)
    assert redacted.endswith(tail)
    inside = redacted[len(head) : len(redacted) - len(tail)]
    # what stood around the name is there, and nothing else
    assert re.sub("<[^>]*>", "", inside) == SPELLINGS[spelling]("")
    assert Redactor(identity).text(redacted) == redacted


@settings(deadline=None, max_examples=200)
@given(names, names, st.sampled_from(sorted(set(SPELLINGS) - {"lower", "upper"})))
def test_marks_tell_names_apart_and_keep_their_traits(one: str, two: str, spelling: str) -> None:
    assume(_legal(one) and _legal(two) and one.casefold() != two.casefold())
    redactor = Redactor(Identity(homes=(f"C:\\Users\\{one}", f"C:\\Users\\{two}")))
    first, again, second = (redactor.text(SPELLINGS[spelling](n)) for n in (one, one, two))
    assert first == again != second
    plain = redactor.text(f"C:\\Users\\{one}\\x")
    assert (" " in plain, plain.isascii()) == (" " in one, one.isascii())


@settings(deadline=None, max_examples=200)
@given(names, names)
def test_the_strings_of_json_are_redacted_as_they_are_alone(one: str, two: str) -> None:
    assume(_legal(one) and _legal(two))
    tree = {
        "a": f"x C:\\Users\\{one}\\y",
        f"x \\\\nas\\s\\Users\\{two}\\b": f"z C:/Users/{two}/c",
    }
    redactor = Redactor(Identity())
    found = json.loads(Redactor(Identity()).text(json.dumps(tree)))
    assert found == {redactor.text(k): redactor.text(v) for k, v in tree.items()}


SECRET_KEYS = st.sampled_from(["HF_TOKEN", "MY_SECRET", "password", "api_key", "X_KEY"])


@settings(deadline=None, max_examples=300)
@given(
    st.dictionaries(
        SECRET_KEYS | st.text(max_size=6),
        st.text(max_size=30) | st.integers() | st.none() | st.booleans(),
        max_size=4,
    ),
    st.booleans(),
)
def test_json_stays_json(tree: dict[str, object], twice: bool) -> None:
    text = json.dumps(tree)
    redacted = Redactor(ALEX).text(json.dumps(text) if twice else text)
    found = json.loads(json.loads(redacted) if twice else redacted)
    assert set(map(type, found.values())) == set(map(type, tree.values())) or len(found) != len(
        tree
    )
    assert Redactor(ALEX).text(redacted) == redacted


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from([row[0] for _, row in TEXTS]) | st.text(max_size=12), max_size=4),
    st.text(max_size=2),
)
@example(["7z x -pzq9x a.7z; unzip -p a.zip"] * 4, "")
def test_any_text_is_redacted_once_and_for_all(pieces: list[str], glue: str) -> None:
    redactor = Redactor(ALEX)
    once = redactor.text(glue.join(pieces))
    assert redactor.text(once) == once


PROSE = (
    "import torch, triton; python -m pip; al x user; Windows 11; Program Files; "
    r"D:\python\Lib\site-packages\torch\lib\x.dll; triton-windows; packages"
)


WORDS = {*PROSE.replace(";", "").replace(",", "").split(), "lib", "dll"}
MACHINES = ("torch", "PYTHON", "user", "Windows", "triton", "lib", "x")


@pytest.mark.parametrize(
    "identity",
    [Identity(users=(name,), homes=(f"C:\\Users\\{name}",)) for name in sorted(WORDS)]
    + [Identity(hosts=(name,), domains=(name,)) for name in MACHINES],
    ids=str,
)
def test_ordinary_words_are_not_mangled_by_a_user_or_a_machine_of_that_name(
    identity: Identity,
) -> None:
    assert Redactor(identity).text(PROSE) == PROSE


@pytest.mark.parametrize("seed", cases("redaction/texts.toml", "slow"))
def test_time_grows_with_the_length_and_no_faster(seed: str) -> None:
    text = (seed * 60_000)[:60_000]
    start = time.process_time()
    Redactor(ALEX).text(text)
    assert time.process_time() - start < 5  # 0.3 s measured; a quadratic pattern takes minutes


def test_variables_are_redacted_by_their_names() -> None:
    redactor = Redactor(ALEX)
    assert redactor.variable("HF_TOKEN", "a 'b' \"c\"") == "<token>"
    assert redactor.variable("HF_TOKEN", "") == ""
    assert redactor.variable("UserName", "alex") == "<user-2>"
    assert redactor.variable("COMPUTERNAME", "PYTHON") == "<host-3>"
    assert redactor.variable("LOGONSERVER", r"\\PYTHON") == "<host-3>"
    assert redactor.variable("CC", r"C:\Users\alex\cl.exe ") == r"C:\Users\<user-2>\cl.exe "


def test_identity_is_gathered_from_environment_and_registry(tmp_path: Path) -> None:
    profiles = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList"
    registry = MemoryRegistry(
        {
            rf"{profiles}\S-1-5-18": {"ProfileImagePath": r"%systemroot%\system32\systemprofile"},
            rf"{profiles}\S-1-5-21-1": {"ProfileImagePath": r"E:\People\Bo"},
            r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters": {"Domain": "corp.test"},
        }
    )
    env = {
        "USERNAME": "alex",
        "USERPROFILE": r"C:\Users\Alex S",
        "HOMESHARE": r"\\files\home$\alex",
        "COMPUTERNAME": "BOX-1",
        "USERDOMAIN": "BOX-1",
        "USERDNSDOMAIN": "CORP.TEST",
        "LOGONSERVER": r"\\DC01",
    }
    host = fake_host(tmp_path / "someone", env, registry)
    assert Identity.this_machine(host) == Identity(
        users=("alex",),
        homes=(
            str(tmp_path / "someone"),
            r"C:\Users\Alex S",
            r"\\files\home$\alex",
            r"E:\People\Bo",
        ),
        hosts=("BOX-1", "DC01"),
        domains=("CORP.TEST",),
    )
