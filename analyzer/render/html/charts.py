"""Charts as SVG within a page: bars over time, a line over time, bars of a distribution.

Theory. A chart is as wide as its page, and its lines keep their width however it is stretched. Its words stand beside
it as HTML, so that a phone shows them as large as all others. Each bar says in its title what it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.render.html.elements import Html, make_element

WIDTH, HEIGHT = 1000, 100


def draw_bars(values: Sequence[float], titles: Sequence[str], kind: str) -> Html:
    """Draws a bar for each value (0 or more) in SVG; kind: its CSS class, which gives the colour."""
    highest, wide = max(values, default=0) or 1, WIDTH / max(len(values), 1)
    bars = [
        make_element(
            "rect",
            x=f"{place * wide:.1f}",
            y=f"{HEIGHT - height:.1f}",
            width=f"{wide * 0.9:.1f}",
            height=f"{height:.1f}",
        )
        for place, value in enumerate(values)
        for height in [HEIGHT * value / highest]
    ]
    return _draw(
        [_add_title(bar, title) for bar, title, value in zip(bars, titles, values, strict=True) if value], kind
    )


def draw_line(values: Sequence[float | None], titles: Sequence[str], kind: str) -> Html:
    """Draws a line through the values in SVG; it has a break where a value is None."""
    highest, wide = max((value for value in values if value is not None), default=0) or 1, WIDTH / max(len(values), 1)
    points = [
        None if value is None else f"{(place + 0.5) * wide:.1f} {HEIGHT - (HEIGHT - 4) * value / highest:.1f}"
        for place, value in enumerate(values)
    ]
    steps = [
        f"{'L' if place and points[place - 1] is not None else 'M'}{point} h0.01"
        for place, point in enumerate(points)
        if point is not None
    ]
    shown = [
        _add_title(make_element("rect", x=f"{place * wide:.1f}", y=0, width=f"{wide:.1f}", height=HEIGHT), title)
        for place, (point, title) in enumerate(zip(points, titles, strict=True))
        if point is not None
    ]
    return _draw([make_element("path", d=" ".join(steps), vector_effect="non-scaling-stroke"), *shown], kind)


def _add_title(bar: Html, title: str) -> Html:
    return make_element("g", bar, make_element("title", title))


def _draw(shapes: Sequence[Html], kind: str) -> Html:
    return make_element(
        "svg",
        *shapes,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        class_=f"chart {kind}",
        role="img",
    )


def make_figure(title: str, chart: Html, most: str, axis: Sequence[str]) -> Html:
    """Makes a chart with its title, its highest value, and labels below it from left to right."""
    head = make_element("figcaption", make_element("b", title), make_element("span", most))
    below = make_element("div", *(make_element("span", text) for text in axis), class_="axis")
    return make_element("figure", head, chart, below)
