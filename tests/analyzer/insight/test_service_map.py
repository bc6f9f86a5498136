"""The service map of captures of all protocols: roles that messages show, and edges that add up; its files."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analyzer.decode.rows import RowReader
from analyzer.insight.participants import read_reported_names
from analyzer.insight.service_map import ServiceMap, build_map
from analyzer.insight.statistics import Study
from analyzer.render.service_map_files import write_dot, write_mermaid, write_svg
from analyzer.session import Session
from tests.tui.driving import KAFKA

CAPTURES = KAFKA.parent

ROLES: dict[str, dict[str, set[str]]] = {
    "kafka.pcap": {
        "broker 1 127.0.0.1:29092": {"group coordinator", "leader"},
        "broker 2 127.0.0.1:29192": {"group coordinator", "leader"},
    },
    "kafka-4.4.pcap.zst": {"broker 1": {"controller", "group coordinator", "leader", "transaction coordinator"}},
    "pulsar.pcap.zst": {"127.0.0.1:6650": {"owner", "transaction coordinator"}},
    "rocketmq.pcap.zst": {"127.0.0.1:9876": {"name server"}, "127.0.0.1:10911": {"broker"}},
    "zookeeper-ensemble.pcap.zst": {"server 2 127.0.0.2:3888": {"leader"}, "server 1 127.0.0.1:3888": set()},
}


@cache
def built(path: Path) -> ServiceMap:
    session = Session([path]).load()
    return build_map(Study(RowReader(session)), read_reported_names(session))


@pytest.mark.parametrize("name", ROLES)
def test_servers_have_the_roles_that_their_messages_show(name: str) -> None:
    found = built(CAPTURES / name)
    roles = {node.participant.title: set(node.roles) for node in found.nodes}
    assert ROLES[name].items() <= roles.items()
    assert all(node.participant.is_server or not node.roles for node in found.nodes)


def test_edges_add_up_and_have_their_own_streams() -> None:
    found = built(KAFKA)
    session = Session([KAFKA]).load()
    streams = [stream for edge in found.edges for stream in edge.streams]
    assert sorted(streams) == sorted({*session.rows.column("stream").tolist()})
    counts = [edge.metrics.messages for edge in found.edges]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == len(session.rows)
    assert len({(edge.client, edge.server) for edge in found.edges}) == len(found.edges)


def test_clients_without_a_name_are_one_for_each_host() -> None:
    found = built(CAPTURES / "zookeeper-ensemble.pcap.zst")
    assert [node.participant.title for node in found.nodes].count("127.0.0.1") == 1


def test_files_have_all_nodes_and_edges_whatever_their_names() -> None:
    found = built(KAFKA)
    first = found.nodes[0]
    evil = replace(first, participant=replace(first.participant, name='a"]; x --> <b>\\\x1b[31m'))
    found = ServiceMap([evil, *found.nodes[1:]], found.edges)
    root = ElementTree.fromstring(write_svg(found))  # made by us
    assert len(root.findall("{*}path")) == len(found.edges)
    assert len(root.findall("{*}rect")) == len(found.nodes) + 1
    dot, mermaid = write_dot(found), write_mermaid(found)
    assert len(re.findall(r"^  n\d+ -> n\d+ \[", dot, re.MULTILINE)) == len(found.edges)
    assert len(re.findall(r"^    n\d+ -->\|", mermaid, re.MULTILINE)) == len(found.edges)
    assert len(mermaid.splitlines()) == 1 + len(found.nodes) + len(found.edges)
    assert 'label="a\\"]; x --> <b>\\\\' in dot
    assert "\x1b" not in dot + mermaid + write_svg(found)
    assert "a#quot;]#59; x --#gt; #lt;b#gt;" in mermaid
    assert "17% errors" not in dot
    assert re.search(r"p50 .*p99 .*% errors", dot)
