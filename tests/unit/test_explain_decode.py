"""Bytes to text: every encoding that logs come in, and what is no text at all."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.problems.explain import decode
from tritonwin.problems.explain.decode import legacy_code_page, text_blocks


def text_of(data: bytes) -> str:
    return "".join(text_blocks(io.BytesIO(data)))


GERMAN = 'Fatal error C1083: Datei (Include) kann nicht geöffnet werden: "omp.h": Größe über Öl'
FRENCH = "impossible d'ouvrir le fichier en entrée 'cuda.lib' : accès refusé à la ressource créée"
RUSSIAN = "не удается открыть файл включение: omp.h: Нет такого файла или каталога"
CHINESE = "无法打开包括文件: omp.h: 没有这样的文件或目录"
KOREAN = "포함 파일을 열 수 없습니다. 'omp.h': 지정된 프로시저를 찾을 수 없습니다."
POLISH = "nie można odnaleźć określonego modułu: omp.h"
JAPANESE = "include ファイルを開けません。'omp.h': そのようなファイルまたはディレクトリはありません"


@pytest.mark.parametrize("text", [GERMAN, FRENCH, RUSSIAN, CHINESE, JAPANESE])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode(text: str, codec: str) -> None:
    # a log is mostly ASCII; that is what tells UTF-16 without a mark
    lines = f"Traceback (most recent call last):\n{text}\nRuntimeError: it stopped here\n"
    assert text_of(lines.encode(codec)).removeprefix("\ufeff") == lines


@pytest.mark.parametrize(
    ("text", "page"),
    [
        (GERMAN, "cp1252"),
        (FRENCH, "cp1252"),
        (GERMAN, "cp850"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "cp866"),
        (CHINESE, "cp936"),
        (JAPANESE, "cp932"),
        ("この操作を正しく終了しました。", "cp932"),
        ("重大な致命的内部エラー", "cp932"),
        (KOREAN, "cp949"),
        (POLISH, "cp1250"),
    ],
)
def test_legacy_code_pages(text: str, page: str) -> None:
    assert legacy_code_page(text.encode(page)) == page
    assert text_of(f"first line\n{text}\nlast\n".encode(page)) == f"first line\n{text}\nlast\n"


def test_quotes_alone_tell_no_language() -> None:
    assert text_of("error: «std»: x\n".encode("cp1252")) == "error: «std»: x\n"


def test_a_last_line_without_an_end_comes_with_those_before_it() -> None:
    """Lines that were wrapped are put together within a block."""
    assert list(text_blocks(io.BytesIO(b"one\ntwo"))) == ["one\ntwo"]


def test_one_line_in_another_encoding_spoils_no_other() -> None:
    data = "größer\n".encode() + "größer\n".encode("cp1252") + "größer\n".encode()
    assert text_of(data) == "größer\n" * 3


def test_utf16_after_utf8() -> None:
    """PowerShell 5 appends UTF-16 to whatever is there."""
    data = "cl.exe: größer\n".encode() + "LINK : fatal error LNK1181\r\nend\r\n".encode("utf-16-le")
    assert text_of(data) == "cl.exe: größer\nLINK : fatal error LNK1181\r\nend\r\n"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_single_bytes_after_utf16(codec: str) -> None:
    """cmd appends single bytes to a file that PowerShell 5 began."""
    wide = ("\ufeff" + "Ошибка: началось\r\n" * 3).encode(codec)
    lines = text_of(wide + b"LINK : fatal error LNK1181: cannot open input file\r\n").split("\n")
    assert lines[0] == "\ufeffОшибка: началось\r"
    assert "LNK1181: cannot open input file" in lines[3]


def test_zeros_within_text_are_dropped() -> None:
    assert text_of(b"er\0ror LNK1181 and so on\n") == "error LNK1181 and so on\n"


def test_blocks_end_with_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "BLOCK", 16)
    data = b"".join(b"line %d\n" % n for n in range(40)) + b"no end"
    blocks = list(text_blocks(io.BytesIO(data)))
    assert "".join(blocks) == data.decode()
    assert all(block.endswith("\n") for block in blocks[:-1])
    assert max(map(len, blocks)) <= 32


def test_a_line_without_end_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "BLOCK", 16)
    blocks = list(text_blocks(io.BytesIO(b"x" * 1000 + b"\nend\n")))
    assert "".join(blocks) == "x" * 1000 + "\nend\n"
    assert max(map(len, blocks)) <= 32


@given(st.binary(max_size=300))
def test_anything_becomes_text(data: bytes) -> None:
    assert text_of(data).encode("utf-8", "surrogatepass") is not None


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")))
def test_utf8_comes_through(text: str) -> None:
    assert text_of(text.encode()) == text
