"""Samples the metrics of the servers of scripts/demo-cluster.sh, and writes a page with rate and lag over time.

    demo-cluster.py FOLDER SECONDS METRICS_PORT...
"""
import html
import pathlib
import re
import sys
import time
import urllib.request

STEP = 0.25
WIDTH, HEIGHT, LEFT, TOP = 900, 220, 70, 20
COLORS = ["#1b6ca8", "#c8553d", "#588157"]


def position(port):
    """The number of the last change that a server has; None: it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=0.2) as page:
            found = re.search(rb"^ironbark_cluster_position\{[^}]*\} (\d+)", page.read(), re.MULTILINE)
            return int(found[1]) if found else None
    except OSError:
        return None


def sample(seconds, ports):
    begin, samples = time.monotonic(), []
    while (now := time.monotonic() - begin) < seconds:
        samples.append((now, [position(port) for port in ports]))
        time.sleep(STEP)
    return samples


def line(points, most, seconds, color):
    """A line through points; None breaks it."""
    parts, is_open = [], False
    for at, value in points:
        if value is None:
            is_open = False
            continue
        x, y = LEFT + at / seconds * WIDTH, TOP + HEIGHT * (1 - value / most)
        parts.append(f"{'L' if is_open else 'M'}{x:.1f} {y:.1f}")
        is_open = True
    return f'<path d="{" ".join(parts)}" fill="none" stroke="{color}" stroke-width="1.5"/>'


def chart(title, series, seconds, events):
    most = max([value for _, points in series for _, value in points if value is not None] + [1])
    out = [f'<svg viewBox="0 0 {LEFT + WIDTH + 20} {TOP + HEIGHT + 60}" role="img"><title>{html.escape(title)}</title>']
    for share in (0, 0.5, 1):
        y = TOP + HEIGHT * (1 - share)
        out.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{most * share:,.0f}</text>')
    for at, text in events:
        x = LEFT + at / seconds * WIDTH
        out.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#999" stroke-dasharray="3 3"/>')
        out.append(f'<text x="{x + 3}" y="{TOP + 10}" font-size="10">{html.escape(text)}</text>')
    for number, (name, points) in enumerate(series):
        color = COLORS[number % len(COLORS)]
        out.append(line(points, most, seconds, color))
        out.append(f'<text x="{LEFT + 160 * number}" y="{TOP + HEIGHT + 40}" fill="{color}">{html.escape(name)}</text>')
    for second in range(0, int(seconds) + 1, 5):
        x = LEFT + second / seconds * WIDTH
        out.append(f'<text x="{x}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{second} s</text>')
    return f"<h2>{html.escape(title)}</h2>" + "".join(out) + "</svg>"


def events_of(folder):
    """Times since the first event, and what happened; the first and the last are no events."""
    lines = [text.split("  ", 1) for text in (folder / "events").read_text().splitlines()]
    times = [sum(int(part) * 60**power for power, part in enumerate(reversed(at.split(":")))) for at, _ in lines]
    return [((at - times[0]) % 86400, text) for at, (_, text) in list(zip(times, lines))[1:] if text != "end"]


def main():
    folder, seconds, ports = pathlib.Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    samples = sample(seconds, ports)
    ends = [(at, max([one for one in all_of if one is not None], default=None)) for at, all_of in samples]
    rates = [
        (at, (end - before_end) / (at - before))
        for (before, before_end), (at, end) in zip(ends, ends[1:])
        if end is not None and before_end is not None
    ]
    lags = [
        (f"server {number + 1}", [(at, None if all_of[number] is None else end - all_of[number])
                                  for (at, end), (_, all_of) in zip(ends, samples) if end is not None])
        for number in range(len(ports))
    ]
    events = events_of(folder)
    gap = max((later - at for (at, _), (later, _) in zip(
        [pair for pair in rates if pair[1] > 0], [pair for pair in rates if pair[1] > 0][1:])), default=0)
    page = "".join([
        "<!doctype html><meta charset=utf-8><title>A cluster under faults</title>",
        "<style>body{font:14px sans-serif;max-width:1000px;margin:2em auto}svg{width:100%}text{font-size:11px}</style>",
        "<h1>A cluster under faults</h1>",
        f"<p>{ends[-1][1] or 0:,} changes. The longest time without a change was {gap:.2f} s "
        f"(the positions are read every {STEP} s).</p>",
        chart("Changes a second", [("all servers", rates)], seconds, events),
        chart("Changes behind the newest server", lags, seconds, events),
    ])
    (folder / "page.html").write_text(page)
    print(f"longest time without a change: {gap:.2f} s")


if __name__ == "__main__":
    main()
