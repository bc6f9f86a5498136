"""Live capture: a process that has the privilege and writes a file, and the analyzer, which has none and follows it.

`asked` says what is wanted, `channel` what the two tell each other; `sniffer` is the one process, `capture` its handle
in the other.
"""

import os

# Before anything imports NumPy: privileges belong to threads (privilege.py), and it would start a pool of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
