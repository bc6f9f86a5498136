"""What people are told of a field: a word or two, in one table for all commands, in order of importance.

A new command gets a line without a new row, as far as its fields have names that others have.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from dissectors.holes import made
from dissectors.pulsar.info import clients, layouts, messages, topics
from dissectors.pulsar.info.contents import content
from dissectors.pulsar.info.phrases import message_id, position, signed
from dissectors.wire.amounts import count_text, size_text
from dissectors.wire.phrases import Say, Values, is_number, joined, listed, positive, said, text, unless, when


def sayings(values: Values) -> list[str]:
    """What a message says, the most telling first."""
    return [part for say, key in _known(tuple(values)) for part in say(values[key], values)]


@lru_cache(maxsize=1024)
def _known(keys: tuple[str, ...]) -> list[tuple[Say, str]]:
    """What has something to say among these fields: there are few kinds of messages, and many of each."""
    return [(_SAYINGS[key], key) for key in _SAYINGS if key in keys]


def _is_whole(values: Values) -> bool:
    """Whether it is a PRODUCER, whose metadata are properties: of a message the keys are named instead."""
    return not isinstance(values.get("metadata"), dict)


_OUTCOMES = {"COMMIT": "committed", "ABORT": "aborted"}

_SAYINGS: Mapping[str, Say] = {
    "checksum": lambda value, _: ("wrong checksum",) if isinstance(value, dict) and value.get("valid") is False else (),
    "validation_error": said("{}"),
    "client_version": text,
    "server_version": text,
    "protocol_version": said("protocol v{}"),
    "max_message_size": lambda value, _: (f"messages up to {made(size_text, value)}",) if is_number(value) else (),
    "auth_method_name": topics.authentication,
    "challenge": topics.authentication,
    "response": topics.response,
    "proxy_to_broker_url": said("through a proxy to {}"),
    "proxy_version": said("proxy {}"),
    "resolved_topic_name": text,
    "topic": text,
    "namespace": text,
    "topics_pattern": said("pattern {}"),
    "mode": unless("PERSISTENT"),
    "partitions": topics.partitions,
    "resource_type": lambda value, values: (f"{value} {values.get('resource_id', '?')}".lower(),),
    "brokerServiceUrl": topics.broker,
    "brokerServiceUrlTls": lambda value, values: topics.broker("", values) if "brokerServiceUrl" not in values else (),
    "authoritative": topics.authoritative,
    "proxy_through_service_url": when("through the service URL"),
    "advertised_listener_name": said("listener {}"),
    "original_principal": said("for {}"),
    "topics": listed("topic"),
    "new_topics": lambda value, _: joined("new ", value),
    "deleted_topics": lambda value, _: joined("deleted ", value),
    "property_filters": layouts.filters,
    "filtered": when("filtered"),
    "changed": when("unchanged", so=False),
    "topics_hash": said("hash {}"),
    "current_hash": said("hash {}"),
    "create_if_missing": when("not to be created", so=False),
    "metadata_auto_creation_enabled": when("not to be created", so=False),
    "subscription": clients.subscription,
    "subType": text,
    "type": text,
    "consumer_type": text,
    "producer_id": said("producer {}"),
    "producer_name": said("name {}"),
    "producerName": said("producer {}"),
    "consumer_id": said("consumer {}"),
    "consumer_name": said("name {}"),
    "consumerName": said("name {}"),
    "tc_id": said("coordinator {}"),
    "session_id": said("session {}"),
    "watcher_id": said("watcher {}"),
    "watch_id": said("watch {}"),
    "closed": when("closed by the broker"),
    "assignedBrokerServiceUrl": said("now at {}"),
    "assignedBrokerServiceUrlTls": said("now at {} (TLS)"),
    "producer_ready": when("waits for its turn", so=False),
    "producer_access_mode": unless("Shared"),
    "encrypted": lambda value, values: ("encrypted",) if value is True and _is_whole(values) else (),
    "keySharedMeta": clients.key_shared,
    "initialPosition": lambda value, _: ("from the earliest if new",) if value == "Earliest" else (),
    "start_message_id": lambda value, _: (f"from {position(value)}",),
    "start_message_rollback_duration_sec": clients.rollback,
    "durable": when("not durable", so=False),
    "read_compacted": when("compacted"),
    "replicate_subscription_state": when("replicated"),
    "force_topic_creation": when("topic not to be created", so=False),
    "priority_level": positive("priority {}"),
    "initial_subscription_name": said("first subscription {}"),
    "schema": clients.schema,
    "schema_version": clients.schema_version,
    "epoch": positive("epoch {}"),
    "topic_epoch": said("topic epoch {}"),
    "consumer_epoch": positive("epoch {}"),
    "last_sequence_id": lambda value, _: (f"last sequence {value}",) if is_number(value) and value >= 0 else (),
    "sequence_id": messages.sequence,
    "message_id": messages.which,
    "message_ids": messages.redeliver,
    "message_publish_time": messages.time("to {}"),
    "last_message_id": messages.last,
    "consumer_mark_delete_position": lambda value, _: (f"acknowledged up to {message_id(value)}",),
    "redelivery_count": messages.redelivered,
    "ack_set": messages.ack_set,
    "messagePermits": lambda value, _: (count_text(value, "permit"),) if is_number(value) else (),
    "is_active": lambda value, _: ("active" if value is True else "inactive",),
    "force": when("by force"),
    "transaction": layouts.transaction,
    "txn_action": lambda value, _: (f"{value}".lower(),),
    "outcome": lambda value, _: (_OUTCOMES.get(value, "ended") if isinstance(value, str) else "ended",),
    "txn_ttl_millis": layouts.in_time,
    "dag": layouts.layout,
    "assignment": layouts.layout,
    "snapshot": layouts.snapshot,
    "diff": layouts.diff,
    "msgBacklog": said("backlog {}"),
    "unackedMessages": said("{} not acknowledged"),
    "availablePermits": lambda value, _: (f"{signed(value)} permits",) if is_number(value) else (),
    "blockedConsumerOnUnackedMsgs": when("blocked"),
    "msgRateOut": layouts.rate("{:.1f} messages/s"),
    "msgRateRedeliver": layouts.rate("{:.1f} redeliveries/s"),
    "message": messages.message,
    "error_message": messages.message,
    "metadata": content,
}
