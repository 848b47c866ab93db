#!/usr/bin/env python3
"""The picture of README.md, docs/beside-slapd.svg: rates of both servers, from data/benchmarks.jsonl.

The figures are those of the first table of docs/benchmarks.md, which says how they are measured. Each pair of bars has
its own scale, as the rates of the workloads differ a thousandfold.
"""
from pathlib import Path

from results import rate, tracked

PICTURE = Path(__file__).parent.parent.parent / "docs" / "beside-slapd.svg"
# The text of each row, and which measurement it is: workload, clients, requests in flight on each.
ROWS = [
    ("searches", "64 clients", "search", 64, 1),
    ("searches", "16 clients, 16 in flight", "search", 16, 16),
    ("compares", "16 clients, 16 in flight", "telco compare, random", 16, 16),
    ("binds", "64 clients", "zimbra bind, random", 64, 1),
    ("entries of whole-database searches", "8 clients", "scan", 8, 1),
    ("durable modifications", "16 clients", "telco modify, random, durable", 16, 1),
    ("changes of a group of 100,000", "1 client", "groups, 100000", 1, 1),
]
SERVERS = [("slapd", "#8a94a6"), ("ironbark", "#1b6ca8")]
LEFT, BARS, ROW, TOP, WIDTH = 232, 300, 46, 48, 640


def figure(label, workload, clients, in_flight):
    result = next(one for one in tracked() if (one["label"], one["workload"]) == (label, workload))
    shape = (clients, in_flight)
    return next(rate(result, point) for point in result["points"] if (point["clients"], point["in_flight"]) == shape)


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def picture():
    height = TOP + ROW * len(ROWS) + 8
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>Operations a second on one core: slapd and Ironbark</title>",
        "<style>text{font:12px sans-serif;fill:#444}.t{font-size:14px;font-weight:bold;fill:#222}"
        ".n{fill:#222}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        '<text class="t" x="12" y="24">Operations a second, server on one core</text>',
    ]
    for number, (label, color) in enumerate(SERVERS):
        x = LEFT + 190 + 90 * number
        name = "Ironbark" if label == "ironbark" else label
        out.append(f'<rect x="{x}" y="15" width="10" height="10" fill="{color}"/>')
        out.append(f'<text x="{x + 15}" y="24">{name}</text>')
    for number, (what, load, *measurement) in enumerate(ROWS):
        y = TOP + ROW * number
        values = [figure(label, *measurement) for label, _ in SERVERS]
        out.append(f'<text class="n" x="{LEFT - 12}" y="{y + 14}" text-anchor="end">{what}</text>')
        out.append(f'<text x="{LEFT - 12}" y="{y + 30}" text-anchor="end">{load}</text>')
        for bar, (value, (_, color)) in enumerate(zip(values, SERVERS)):
            width = max(1.0, BARS * value / max(values))
            top = y + 2 + 17 * bar
            out.append(f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="15" fill="{color}"/>')
            out.append(f'<text x="{LEFT + width + 6:.1f}" y="{top + 12}">{shown(value)}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture())
