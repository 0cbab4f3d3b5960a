"""An SVG chart of simulated against measured milliseconds, on logarithmic axes."""
import html
import math

WIDTH, HEIGHT, LEFT, TOP, SIDE = 760, 520, 70, 30, 430
COLORS = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#5d6d7e", "#117a65", "#7b241c"]


def ticks(low, high):
    """Powers of ten in [low, high]."""
    return [10.0 ** k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def chart(points, title):
    """`points`: (group, measured, simulated, whether fitted). Filled marks were fitted to."""
    values = [value for _, measured, simulated, _ in points for value in (measured, simulated)]
    low, high = min(values) / 1.5, max(values) * 1.5

    def place(value):
        return SIDE * math.log(value / low) / math.log(high / low)

    def x(value):
        return LEFT + place(value)

    def y(value):
        return TOP + SIDE - place(value)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="12">',
             f"<title>{html.escape(title)}</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>']
    for tick in ticks(low, high):
        label = f"{tick:g}"
        parts += [f'<line x1="{x(tick):.1f}" y1="{TOP}" x2="{x(tick):.1f}" y2="{TOP + SIDE}" stroke="#ddd"/>',
                  f'<line x1="{LEFT}" y1="{y(tick):.1f}" x2="{LEFT + SIDE}" y2="{y(tick):.1f}" stroke="#ddd"/>',
                  f'<text x="{x(tick):.1f}" y="{TOP + SIDE + 18}" text-anchor="middle">{label}</text>',
                  f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{label}</text>']
    for factor, dash in ((1, ""), (1.15, ' stroke-dasharray="4 4"'), (1 / 1.15, ' stroke-dasharray="4 4"')):
        first, last = max(low, low / factor), min(high, high / factor)
        parts.append(f'<line x1="{x(first):.1f}" y1="{y(first * factor):.1f}" x2="{x(last):.1f}" '
                     f'y2="{y(last * factor):.1f}" stroke="#555"{dash}/>')
    groups = list(dict.fromkeys(group for group, *_ in points))
    for group, measured, simulated, fitted in points:
        color = COLORS[groups.index(group) % len(COLORS)]
        parts.append(f'<circle cx="{x(measured):.1f}" cy="{y(simulated):.1f}" r="4" stroke="{color}" '
                     f'fill="{color if fitted else "white"}"/>')
    for number, group in enumerate(groups):
        height = TOP + 14 + 20 * number
        parts += [f'<circle cx="{LEFT + SIDE + 24}" cy="{height - 4}" r="4" fill="{COLORS[number % len(COLORS)]}"/>',
                  f'<text x="{LEFT + SIDE + 36}" y="{height}">{html.escape(group)}</text>']
    below = TOP + 24 + 20 * len(groups)
    for number, line in enumerate(("filled: fitted to", "open: not fitted to", "dashed: 15 % off")):
        parts.append(f'<text x="{LEFT + SIDE + 18}" y="{below + 18 * number}">{line}</text>')
    parts += [f'<text x="{LEFT + SIDE / 2}" y="{TOP + SIDE + 42}" text-anchor="middle">measured ms</text>',
              f'<text x="18" y="{TOP + SIDE / 2}" text-anchor="middle" '
              f'transform="rotate(-90 18 {TOP + SIDE / 2})">calibrated simulation, ms</text>',
              f'<text x="{LEFT}" y="20">{html.escape(title)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"
