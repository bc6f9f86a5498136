"""What the client with transactions does, for those who have not got its library."""

from __future__ import annotations

TOPIC, GROUP, CLIENT = "in-transactions", "transactions-group", "transactions-client"
OUTCOMES = ("commit", "abort", "commit")
"""How the transactions end, one after the other, each with all records."""
