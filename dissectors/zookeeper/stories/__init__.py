"""What whole captures of ZooKeeper tell, a module for each table, and for what several of them remember."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.story import Story
from dissectors.zookeeper.stories.commits import Commits
from dissectors.zookeeper.stories.elections import Elections
from dissectors.zookeeper.stories.sessions import Sessions
from dissectors.zookeeper.stories.watches import Watches


def stories() -> Sequence[type[Story]]:
    """All of them."""
    return Sessions, Watches, Commits, Elections
