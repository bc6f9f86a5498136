"""What commands are called, where their keys stand, what of them is a secret; types."""

from collections.abc import Iterator, Sequence

SUBSCRIBES = ("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE")
PUSHES = ("MESSAGE", "PMESSAGE", "SMESSAGE", "INVALIDATE")
_SHAPES = {
    (0, 0, 0): """ACL AUTH CLIENT CLUSTER COMMAND CONFIG DBSIZE DEBUG DISCARD ECHO EXEC FLUSHALL FLUSHDB FUNCTION HELLO
        INFO KEYS LATENCY MEMORY MODULE MONITOR MULTI PING PSYNC PUBLISH PUBSUB QUIT REPLCONF REPLICAOF RESET ROLE SCAN
        SCRIPT SELECT SENTINEL SHUTDOWN SLOWLOG SPUBLISH SWAPDB TIME UNWATCH WAIT BITOP BLMPOP BZMPOP""",
    (1, 1, 1): """APPEND DECR EXPIRE EXPIREAT GET GETDEL GETEX GETSET HDEL HEXISTS HGET HGETALL HINCRBY HLEN HMGET
        HMSET HSCAN HSET HSETNX INCR INCRBY LINDEX LLEN LPOP LPUSH LRANGE LREM LTRIM PFADD RPOP RPUSH SADD SCARD SET
        SETEX SETNX SISMEMBER SMEMBERS SPOP SREM TTL TYPE XACK XADD XLEN XRANGE ZADD ZCARD ZRANGE ZREM ZSCORE""",
    (1, 2, 1): "BLMOVE COPY LCS LMOVE RENAME RENAMENX RPOPLPUSH SMOVE ZRANGESTORE", (1, -1, 2): "MSET MSETNX",
    (1, -1, 1): "DEL EXISTS MGET PFCOUNT SDIFF SDIFFSTORE SINTER SINTERSTORE SUNION SUNIONSTORE PFMERGE UNLINK WATCH",
    (1, -2, 1): "BLPOP BRPOP BZPOPMAX BZPOPMIN", (2, 2, 1): "OBJECT XGROUP XINFO", (3, 3, 1): "MIGRATE",
    (3, 0, 1): "EVAL EVALSHA FCALL", (-1, -1, 1): "XREAD XREADGROUP", (2, 0, 1): "LMPOP ZDIFF ZINTER ZMPOP ZUNION",
}  # fmt: skip
KEYS = dict.fromkeys(SUBSCRIBES, (0, 0, 0)) | {name: key for key, names in _SHAPES.items() for name in names.split()}
"""By command: its first key; the last, negative: from the end, 0: as many as the word before says; the step.
Of a command that is not here, the first word is taken for the key."""

SECRETS = ("REQUIREPASS", "MASTERAUTH", "AUTH-PASS", "SENTINEL-PASS")
TYPES = {
    "+": "string", "-": "error", ":": "integer", "$": "bulk", "*": "array", "_": "null", "#": "boolean",
    ",": "double", "(": "bignum", "!": "error", "=": "verbatim", "~": "set", "%": "map", ">": "push", "|": "attributes",
}  # fmt: skip


def key_places(words: Sequence[str]) -> range:
    """Which words of a request, all in upper case, are keys."""
    (first, last, step), count = KEYS.get(words[0], (1, 1, 1)), len(words)
    if first < 0 and "STREAMS" in words:
        first = words.index("STREAMS") + 1
        last = (first + count) // 2 - 1
    elif 0 < first <= count and not last and words[first - 1][:9].isdecimal():
        last = first - 1 + int(words[first - 1][:9])
    return range(first, min(count, last + 1 + count * (last < 0)), step) if first > 0 else range(0)


def secret_places(command: str, words: Sequence[str]) -> Iterator[int]:
    """Which of the words of a request, or of an answer, to which no command belongs, may be passwords."""
    for at in range(1, len(words)):
        last, before = words[at - 1], words[at - 2] if at > 1 else ""
        if (
            last in SECRETS
            or (command == "AUTH" and (len(words) != 3 or at == 2))
            or (command in ("HELLO", "MIGRATE") and {"AUTH", "AUTH2"} & {before, last})
            or (command == "ACL" and words[at].lstrip("B'\"")[:1] in tuple("<>#!"))
        ):
            yield at
