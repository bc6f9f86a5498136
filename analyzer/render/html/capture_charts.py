"""The charts of an incident page: what a capture did over time, and how its latencies are spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.columns.values import format_iso_time
from analyzer.insight.incident import Incident
from analyzer.insight.metrics import SECOND
from analyzer.insight.percentiles import ROUND
from analyzer.render.amounts import format_counted, format_rate
from analyzer.render.durations import format_duration
from analyzer.render.html.charts import draw_bars, draw_line, make_figure
from analyzer.render.html.elements import Html


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
