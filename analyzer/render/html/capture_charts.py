"""The charts of an incident page: activity over time, and the distribution of latencies.

Theory. A chart is inline SVG. It is as wide as the page, and its lines keep their width when it is stretched. Its
labels are HTML beside it, so that they have normal size on a phone. Each bar explains itself in its title.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.columns.values import format_iso_time
from analyzer.insight.incident import Incident
from analyzer.insight.metrics import SECOND
from analyzer.insight.percentiles import ROUND
from analyzer.render.amounts import format_counted, format_rate
from analyzer.render.durations import format_duration
from analyzer.render.html.elements import Html, make_element


def list_charts(incident: Incident) -> Iterator[Html]:
    """Returns the charts of a capture: rate, errors and p99 over time, and the distribution of latencies."""
    groups, interval = incident.over_time.groups, incident.over_time.interval or SECOND
    times = [format_iso_time(group.key[0])[11:23] for group in groups]
    if not groups:
        return
    axis = [f"{times[0]} UTC", f"each bar is {format_duration(interval)}", times[-1]]
    rates = [group.metrics.messages * SECOND / interval for group in groups]
    titles = [f"{time}: {format_rate(rate)} messages/s" for time, rate in zip(times, rates, strict=True)]
    yield make_figure("Messages a second", draw_bars(rates, titles, "rate"), f"at most {format_rate(max(rates))}", axis)
    errors = [group.metrics.errors or 0 for group in groups]
    if any(errors):
        titles = [f"{time}: {format_counted(count, 'error')}" for time, count in zip(times, errors, strict=True)]
        yield make_figure("Errors", draw_bars(errors, titles, "errors"), f"at most {max(errors):,}", axis)
    late = [group.metrics.p99_ns for group in groups]
    if known := [each for each in late if each is not None]:
        titles = [f"{time}: p99 {format_duration(each)}" for time, each in zip(times, late, strict=True)]
        yield make_figure(
            "p99 latency", draw_line(late, titles, "latency"), f"at most {format_duration(max(known))}", axis
        )
    yield from _list_spread(incident.latencies)


def _list_spread(latencies: Sequence[int]) -> Iterator[Html]:
    there = [place for place, count in enumerate(latencies) if count]
    if not there:
        return
    edges = ROUND.tolist()
    places = range(there[0], there[-1] + 1)
    counts = [latencies[place] for place in places]
    titles = [
        f"from {format_duration(edges[place])}: {format_counted(latencies[place], 'response')}" for place in places
    ]
    begin, end = format_duration(edges[places[0]]), format_duration(edges[min(places[-1] + 1, len(edges) - 2)])
    axis = [begin, "each bar ends at twice the latency of the one before", end]
    yield make_figure("Responses by latency", draw_bars(counts, titles, "spread"), f"at most {max(counts):,}", axis)


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
