"""Colours of the HTML reports: text can be read on its ground, light and dark (WCAG 2.2, 1.4.3)."""

from __future__ import annotations

import re

import pytest

from tritonwin.output import html

Colour = tuple[float, float, float]
SCHEMES = dict(
    zip(
        ("light", "dark"),
        (
            dict(re.findall(r"--(\w+): #([0-9a-f]{6})", block))
            for block in re.findall(r":root \{(.*?)\}", html.own_file("report.css"), re.DOTALL)
        ),
        strict=True,
    )
)
TEXTS = ("text", "faint", "passed", "broken", "warned", "absent")
ENOUGH = 4.5


def colour(code: str) -> Colour:
    red, green, blue = (int(code[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return red, green, blue


def luminance(of: Colour) -> float:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in of)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast(colour("777777"), (1, 1, 1)) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read(scheme: str, text: str) -> None:
    found = SCHEMES[scheme]
    assert contrast(colour(found[text]), colour(found["page"])) >= ENOUGH


@pytest.mark.parametrize("scheme", SCHEMES)
def test_commands_can_be_read(scheme: str) -> None:
    """Their ground is the lines' colour, laid over the page's."""
    share = re.search(
        r"pre \{ background: color-mix\(in srgb, var\(--line\) (\d+)%", html.own_file("report.css")
    )
    assert share
    part = int(share[1]) / 100
    line, ground = colour(SCHEMES[scheme]["line"]), colour(SCHEMES[scheme]["page"])
    mixed = [part * over + (1 - part) * under for over, under in zip(line, ground, strict=True)]
    assert contrast(colour(SCHEMES[scheme]["text"]), (mixed[0], mixed[1], mixed[2])) >= ENOUGH


def test_every_colour_of_text_is_looked_at() -> None:
    coloured = set(re.findall(r"(?<![-\w])color: var\(--(\w+)\)", html.own_file("report.css")))
    assert coloured == set(TEXTS)
    assert all(found.keys() >= {*TEXTS, "page", "line"} for found in SCHEMES.values())
