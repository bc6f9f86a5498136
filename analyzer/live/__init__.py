"""Captures live traffic: a privileged process writes files, and the unprivileged analyzer follows them.

`capture_request` says what to capture, `channel` how the two processes talk. `sniffer` is the capturing process, and
`capture` its handle in the analyzer.
"""

import os

# Before anything imports NumPy: privileges belong to threads (privilege.py), and it would start a pool of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
