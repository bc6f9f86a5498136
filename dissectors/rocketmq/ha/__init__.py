"""The protocol by which slaves copy their master's log: see dissector.py."""

from dissectors.rocketmq.ha.dissector import RocketMQHA

__all__ = ["RocketMQHA"]
