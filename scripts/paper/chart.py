"""Charts of lines as SVG files of a few kilobytes, without a library."""

import html
import math

COLORS = ["#1b6ca8", "#c8553d", "#588157", "#8d5a97", "#b8860b"]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 240, 64, 34, 16, 46


def _ticks(least, most, is_log):
    if is_log:
        powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        return [step * 10.0**power for power in powers for step in (1, 2, 5) if least <= step * 10.0**power <= most]
    step = 10.0 ** math.floor(math.log10(most))
    step = next(step * part for part in (2, 1, 0.5, 0.25, 0.2, 0.1) if most / (step * part) >= 4)
    return [step * number for number in range(int(most / step) + 1)]


def _text(value):
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def _scale(least, most, begin, length, is_log):
    if is_log:
        return lambda value: begin + length * math.log(value / least) / math.log(most / least)
    return lambda value: begin + length * (value - least) / (most - least)


def lines(title, x_name, y_name, series, log_x=False, log_y=False):
    """The text of a chart. `series`: (name, [(x, y), ...]), or (name, points, "dashed")."""
    xs = [x for _, points, *_ in series for x, _ in points]
    ys = [y for _, points, *_ in series for _, y in points]
    low_x, low_y = (min(xs) if log_x else 0), (min(ys) if log_y else 0)
    most_y = max(ys) * 1.05
    place_x = _scale(low_x, max(xs), LEFT, WIDTH - LEFT - RIGHT, log_x)
    place_y = _scale(low_y, most_y, HEIGHT + TOP, -HEIGHT, log_y)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {TOP + HEIGHT + BOTTOM + 18}" role="img">',
        f"<title>{html.escape(title)}</title>",
        "<style>text{font:11px sans-serif;fill:#444}.t{font-size:13px;font-weight:bold;fill:#222}"
        "line{stroke:#ddd}path{fill:none;stroke-width:1.8}</style>",
        f'<rect width="{WIDTH}" height="{TOP + HEIGHT + BOTTOM + 18}" fill="#fff"/>',
        f'<text class="t" x="{LEFT}" y="18">{html.escape(title)}</text>',
        f'<text x="{WIDTH - RIGHT}" y="{TOP + HEIGHT + 32}" text-anchor="end">{html.escape(x_name)}</text>',
        f'<text x="{LEFT - 6}" y="{TOP - 4}" text-anchor="end">{html.escape(y_name)}</text>',
    ]
    for value in _ticks(low_y, most_y, log_y):
        y = place_y(value)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_text(value)}</text>')
    for value in _ticks(low_x, max(xs), log_x):
        x = place_x(value)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP + HEIGHT}" y2="{TOP + HEIGHT + 4}"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{_text(value)}</text>')
    at = LEFT
    for number, (name, points, *style) in enumerate(series):
        color = COLORS[number % len(COLORS)]
        dashes = ' stroke-dasharray="5 4"' if style else ""
        shown = [(place_x(x), place_y(y)) for x, y in points]
        path = " ".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(shown))
        out.append(f'<path d="{path}" stroke="{color}"{dashes}/>')
        out.extend(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{color}"/>' for x, y in shown)
        out.append(f'<text x="{at}" y="{TOP + HEIGHT + BOTTOM + 6}" style="fill:{color}">{html.escape(name)}</text>')
        at += 7 * len(name) + 18
    return "\n".join([*out, "</svg>", ""])
