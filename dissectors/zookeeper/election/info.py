"""One line for people about a vote."""

from __future__ import annotations

from dissectors.api import Body, Context
from dissectors.zookeeper.summaries import say


def info_line(body: Body, context: Context) -> str:
    """Who votes for whom, or who connects. Who looks for a leader votes; any other server names the one that it has."""
    values = body.values
    name = "vote" if "leader" in values else "opening" if "sid" in values else "authentication"
    return ", ".join(say(name, values))
