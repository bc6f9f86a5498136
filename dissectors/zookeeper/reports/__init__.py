"""ZooKeeper's reports, a module for each table, and the state that several of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dissectors.report import ReportType
from dissectors.zookeeper.reports.commits import Commits
from dissectors.zookeeper.reports.elections import Elections, ServerNames
from dissectors.zookeeper.reports.sessions import SessionReport
from dissectors.zookeeper.reports.watches import Watches


def reports() -> Sequence[ReportType]:
    """Returns the reports of ZooKeeper: sessions, watches, commits, elections."""
    return SessionReport, Watches, Commits, Elections


def list_quorum_roles() -> Mapping[str, str]:
    """Returns what a server is that sends a packet of the quorum to those that have connected to it."""
    return dict.fromkeys(("LEADERINFO", "NEWLEADER", "UPTODATE", "PROPOSAL", "COMMIT", "INFORM"), "leader")


def participants() -> Sequence[ReportType]:
    """Returns the report that names the servers of an ensemble."""
    return (ServerNames,)
