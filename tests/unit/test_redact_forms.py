"""No secret survives: every form of a secret, in every writing, in every place of a log."""

from __future__ import annotations

import html
import itertools
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from cases import CORPUS, cases
from hosts import JDOE

from tritonwin.facts.redaction.redactor import Redactor, hide_secrets


def _made() -> list[str]:
    """Secrets of well-known kinds, and such as only their place tells."""
    rng = random.Random(16)

    def of(letters: str, count: int) -> str:
        return "".join(rng.choices(letters, k=count))

    word = string.ascii_letters + string.digits
    kinds = (
        *("hf_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "npm_", "r8_", "nvapi-"),
        *("rpa_", "gsk_", "xai-"),
        *("pypi-AgEI", "sk-proj-1", "sk-1", "sk_live_", "api_org_", "AIza"),
    )
    shaped = [kind + of(word, 36) for kind in kinds]
    shaped += [
        f"AKIA{of(string.ascii_uppercase + string.digits, 16)}",
        f"xoxb-123456-{of(word, 20)}",
    ]
    shaped += [f"eyJ{of(word, 20)}.eyJ{of(word, 30)}.{of(word, 20)}"]
    hexes = [of("0123456789abcdef", 32) for _ in range(4)]
    lower = [of(string.ascii_lowercase + string.digits, n) for n in (20, 24, 32, 40)]
    mixed = [of(word, n) for n in (16, 18, 20, 24, 28, 32, 40, 43, 64, 80)]
    marked = [f"{of(word, 9)}7{mark}{of(word, 12)}" for mark in "-_.~"]
    return shaped + hexes + lower + mixed + marked


SECRETS = _made()
FORMS = (CORPUS / "redaction" / "forms.txt").read_text("utf-8").splitlines()


WRITINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "coloured": lambda text: f"\x1b[32m{text}\x1b[0m",
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps(text)),
    "json lines": lambda text: json.dumps({"log": f"first\n{text}\nlast"}),
    "coloured json": lambda text: json.dumps(f"\x1b[1;31m{text}\x1b[0m\nnext"),
    "repr": lambda text: repr([text]),
    "bytes": lambda text: repr(text.encode()),
    "html": html.escape,
    "percent": lambda text: quote(text, safe=""),
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "ascii escapes": lambda text: text.replace("=", "\\u003d").replace("&", "\\u0026"),
}
PLACES = (
    *("{}", "  {}", "error: {}", "2026-11-28 12:00:01 INFO {}", "[pip] {} ", "$ {}", "> {}"),
    *("first\n{}\nlast", "run: {} && python x.py", "C:\\ai\\python.exe -c x {}", "\t{}\r\n"),
    *("CalledProcessError: {} returned", "({})", "step 1/2 : {}"),
)
JSON_WRITINGS = {"json", "json in json", "json lines", "coloured json"}


def _combinations() -> Iterator[tuple[str, str, str, str]]:
    return itertools.product(SECRETS, FORMS, WRITINGS, PLACES)


def _json(text: str, writing: str) -> bool:
    try:
        value = json.loads(text)
        return writing != "json in json" or json.loads(value) is not None
    except ValueError:
        return False


def leaks(chosen: Iterator[tuple[str, str, str, str]]) -> list[str]:
    """Texts in which eight characters of the secret are left, or JSON is no longer JSON."""
    found = []
    redactor = Redactor(JDOE)
    for secret, form, writing, place in chosen:
        written = WRITINGS[writing](form.replace("{}", secret))
        text = place.replace("{}", written)
        redacted = redactor.text(text)
        parts = [secret[i : i + 8] for i in range(len(secret) - 7)]
        if any(part in redacted for part in parts) or (
            writing in JSON_WRITINGS and place == "{}" and not _json(redacted, writing)
        ):
            found.append(f"{text!r} -> {redacted!r}")
    return found


def test_the_combinations_are_many() -> None:
    assert min(len(SECRETS), len(FORMS)) >= 40
    assert len(WRITINGS) >= 10
    assert len(PLACES) >= 10


def test_no_secret_survives_in_a_sample() -> None:
    rng = random.Random(20261128)
    sample = (
        tuple(rng.choice(kind) for kind in (SECRETS, FORMS, list(WRITINGS), PLACES))
        for _ in range(4000)
    )
    assert leaks(sample) == []  # type: ignore[arg-type]


@pytest.mark.full
def test_no_secret_survives_anywhere() -> None:
    assert leaks(_combinations()) == []


X = "Xq7vB2mZ9kL4wT1p"
HF = "hf_AbCdEfGhIjKlMnOpQrSt"


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize(
    ("form", "name"),
    [(form, name) for name, *forms in cases("redaction/texts.toml", "names") for form in forms],
)
def test_no_name_survives_in_any_writing(form: str, name: str, writing: str) -> None:
    text = WRITINGS[writing](form.replace("{}", name))
    redacted = Redactor(JDOE).text(text)
    assert name not in redacted.replace("%20", " ")
    if writing in JSON_WRITINGS:
        json.loads(redacted)


@pytest.mark.parametrize(
    "text",
    [
        f"-----BEGINx.eyJzdWIiOiIxMjM0In0.abc-_defRSA PRIVATE KEY-----\nMIIEabc\n{X}",
        f'-----BEGIN RSA PRIVATE KEY-----\n={X}", "/DTOKEN={X}", "-DTOKEN={X}',
        f"-----BEGIN RSA PRIVATE KEY-----\n{X}\n<end> of it",
        f'-----BEGIN RSA PRIVATE "--hf-token {X}{X}{X}", KEY-----\nMIIEabc\n',
    ],
)
def test_half_a_key_goes_at_once(text: str) -> None:
    once = Redactor(JDOE).text(text)
    assert X not in once
    assert "MIIEabc" not in once
    assert Redactor(JDOE).text(once) == once


def test_lines_of_a_key_go_where_they_are_items_of_a_list() -> None:
    lines = [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0",
        "b2s=",
        "-----END PRIVATE KEY-----",
    ]
    redacted = json.loads(Redactor(JDOE).text(json.dumps(lines)))
    assert redacted == [lines[0], "<token>", "<token>", lines[-1]]


LOGS = sorted(CORPUS.rglob("*.log"))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_nothing_else_changes_in_a_log(log: Path) -> None:
    text = log.read_text("utf-8", errors="replace")
    redacted = Redactor(JDOE).text(text)
    assert Redactor(JDOE).text(redacted) == redacted
    marks = "<(?:user|\u00fcser|host|email|uuid)(?:~1)?(?:[ -]\\d+)?>"
    for before, after in zip(text.split("\n"), redacted.split("\n"), strict=True):
        kept = map(re.escape, re.split(marks, after))
        assert re.fullmatch('[^\\\\/:"]{1,40}?'.join(kept), before), after


def test_secrets_alone_leave_names() -> None:
    assert hide_secrets(rf"C:\Users\jdoe {HF}") == r"C:\Users\jdoe <token>"
