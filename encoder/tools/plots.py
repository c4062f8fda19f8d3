"""Plots as SVG, of results that a program wrote; the standard library is enough."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLOURS = ("#1f6fb4", "#d9822b", "#3a8f4d", "#8b5fb0")
RED, GREY = "#c23b3b", "#888888"
_STYLE = "font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A curve: points in the units of the axes."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar and a tick on it."""

    name: str
    value: float
    tick: float
    colour: str = COLOURS[0]


def _document(width: int, height: int, title: str, body: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="{_STYLE}">'
    )
    back = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join((head, back, _text(12, 20, title, weight="bold"), *body, "</svg>", ""))


def _text(x: float, y: float, words: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(words)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )


def curves(title: str, across: str, up: str, lines: Sequence[Line], *, top: float) -> str:
    """Curves over a logarithmic axis of powers of two; the other one goes from 0 to `top`."""
    width, height, left, right, above, below = 640, 360, 60, 150, 50, 50
    xs = sorted({x for line in lines for x, _ in line.points})
    low, high = math.log2(xs[0]), math.log2(xs[-1])

    def px(x: float) -> float:
        return left + (math.log2(x) - low) / max(high - low, 1e-9) * (width - left - right)

    def py(y: float) -> float:
        return height - below - min(y, top) / top * (height - above - below)

    body = []
    for step in range(6):
        level = top * step / 5
        body += [
            _line(left, py(level), width - right, py(level), "#dddddd"),
            _text(left - 6, py(level) + 4, f"{level:.0%}", anchor="end"),
        ]
    body += [_text(px(x), height - below + 18, _rows(x), anchor="middle") for x in xs]
    for number, (line, colour) in enumerate(zip(lines, COLOURS, strict=False)):
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in line.points)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [
            f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="3" fill="{colour}"/>'
            for x, y in line.points
        ]
        y = above + 20 * number
        body += [
            _line(width - right + 12, y, width - right + 30, y, colour, 2),
            _text(width - right + 36, y + 4, line.name),
        ]
    body += [
        _text((left + width - right) / 2, height - 10, across, anchor="middle"),
        _text(left - 50, above - 12, up),
    ]
    return _document(width, height, title, body)


def _rows(count: float) -> str:
    return f"{count / 1024:.0f}k" if count >= 1024 else f"{count:.0f}"


def bars(title: str, unit: str, tick: str, rows: Sequence[Bar], marks: dict[str, float]) -> str:
    """Horizontal bars from 0, with vertical lines at `marks`."""
    left, right, above, pitch = 310, 60, 64, 22
    width, height = 800, above + pitch * len(rows) + 40
    top = 1.05 * max([*(max(b.value, b.tick) for b in rows), *marks.values()])

    def px(value: float) -> float:
        return left + value / top * (width - left - right)

    body = [_text(12, 40, f"{unit}; the tick is {tick}")]
    for number, bar in enumerate(rows):
        y = above + pitch * number
        body += [
            _text(left - 8, y + 11, bar.name, anchor="end"),
            (
                f'<rect x="{left}" y="{y}" width="{px(bar.value) - left:.1f}" height="14" '
                f'fill="{bar.colour}"/>'
            ),
            _line(px(bar.tick), y - 2, px(bar.tick), y + 16, "#222222", 2),
            *_figures(bar, px, y + 11),
        ]
    bottom = above + pitch * len(rows)
    for name, value in marks.items():
        body += [
            _line(px(value), above - 8, px(value), bottom + 6, GREY),
            _text(px(value), bottom + 22, name, anchor="middle"),
        ]
    return _document(width, height, title, body)


def _figures(bar: Bar, px: Callable[[float], float], y: float) -> list[str]:
    """The value, and that of the tick where it stands well apart."""
    apart = px(bar.tick) - px(bar.value) > 60
    after = px(bar.value) if apart else max(px(bar.value), px(bar.tick))
    words = [_text(after + 5, y, f"{bar.value:.2f}")]
    return [*words, _text(px(bar.tick) + 5, y, f"{bar.tick:.2f}")] if apart else words


def picture(title: str, across: str, up: str, values: Sequence[Sequence[float]]) -> str:
    """A grey picture of rows of numbers from 0 to 1, the first row at the bottom."""
    scale_x, scale_y, left, above = 2, 2, 50, 36
    height, width = len(values), len(values[0])
    pixels = b"".join(
        b"\0" + bytes(255 - round(255 * min(1.0, max(0.0, v))) for v in row)
        for row in reversed(values)
    )
    image = base64.b64encode(_png(width, height, pixels)).decode()
    body = [
        (
            f'<image x="{left}" y="{above}" width="{scale_x * width}" height="{scale_y * height}" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{image}"/>'
        ),
        _text(left + scale_x * width / 2, above + scale_y * height + 20, across, anchor="middle"),
        _text(4, above + 12, up),
    ]
    return _document(left + scale_x * width + 12, above + scale_y * height + 32, title, body)


def _png(width: int, height: int, pixels: bytes) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        checked = kind + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(pixels, 9))
        + chunk(b"IEND", b"")
    )
