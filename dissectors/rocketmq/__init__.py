"""Apache RocketMQ's remoting protocol: both serializations of its header, and the bodies that its operations carry."""

from dissectors.rocketmq.dissector import RocketMQ

__all__ = ["RocketMQ"]
