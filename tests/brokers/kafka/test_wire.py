"""The tests of docs/how-to/pytest.md: the fixture `wire` with kafka-python, and a broker that the test starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brokers.kafka.recipe import KAFKA
from tests.brokers.lab.missing import Missing
from tests.brokers.lab.server import running, sited
from tests.documents import ROOT, read_blocks
from wireanalyze.pytest_plugin import MARKER, wire

__all__ = ["wire"]

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]
pytest.importorskip("kafka", reason="kafka-python is not installed")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker with the topic of the page."""
    from kafka import KafkaAdminClient
    from kafka.admin import NewTopic

    try:
        site = sited(KAFKA, tmp_path_factory.mktemp("kafka"))
        with running(KAFKA, site):
            admin = KafkaAdminClient(bootstrap_servers=site.address("broker"))
            admin.create_topics([NewTopic("orders", 1, 1)])
            admin.close()
            yield site.address("broker")
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(autouse=True)
def only_this_broker(request: pytest.FixtureRequest, broker: str) -> None:
    """Other programs may use loopback as well. The marker is known without the entry point, too."""
    request.config.addinivalue_line("markers", MARKER)
    request.node.add_marker(pytest.mark.wire(filter=f"tcp port {broker.rpartition(':')[2]}"))


exec(read_blocks(ROOT / "docs" / "how-to" / "pytest.md", "python")[0])
