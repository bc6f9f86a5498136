"""Live capture: a process that has the privilege and writes a file, and the analyzer, which has none and follows it.

`asked` says what is wanted, `channel` what the two tell each other; `sniffer` is the one process, `capture` its handle
in the other.
"""
