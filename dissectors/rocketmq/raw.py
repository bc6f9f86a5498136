"""Traffic on ports of RocketMQ that is no remoting command.

Facts. Default ports: haListenPort is 10912 (the broker's + 1); a proxy takes gRPC on 8081 (ProxyConfig, grpcServerPort)
and remoting commands on 8080 (remotingListenPort), where it also accepts HTTP/2, recognised by its first bytes. Other
programs use 8080 and 8081 as well, so a port alone tells only its usual protocol.
"""

from __future__ import annotations

from collections.abc import Mapping

from dissectors.field import Tree
from dissectors.foreign import foreign
from dissectors.raw import RawRun
from dissectors.rocketmq.ha import raw as ha

_HTTP2 = "http2"
_PORTS: Mapping[int, str] = {
    8080: "a RocketMQ proxy's clients usually speak remoting commands, or gRPC over HTTP/2",
    8081: "a RocketMQ proxy's clients usually speak gRPC over HTTP/2",
}


class RocketMQRaw:
    """The HA port by what passes there; the proxy's by number."""

    def line(self, run: RawRun) -> str | None:
        """Describes unframed bytes in a line: reports and log of HA, or the purpose of a port."""
        other = foreign(run.data)
        if other is None and (found := ha.describe_raw(run)) is not None:
            return found
        if other is not None and other.name != _HTTP2:
            return None
        port = next((port for port in run.ports if port in _PORTS), None)
        return None if port is None else f"on port {port} {_PORTS[port]}, which is not decoded here"

    def tree(self, run: RawRun) -> Tree | None:
        """Frames of an HA connection."""
        return ha.decode_raw(run) if foreign(run.data) is None else None


RAW = RocketMQRaw()
