"""RESP2 and RESP3, which Redis and Valkey speak, as a plug-in: dissector.py; replication is not read."""
