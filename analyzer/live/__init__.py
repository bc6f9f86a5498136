"""Captures live traffic: a privileged process writes files, and the unprivileged analyzer follows them.

`capture_request` describes what to capture, and `channel` how the two processes talk. `sniffer` is the capturing
process. `capture` is its handle in the analyzer.
"""

import os

# Set this before anything imports NumPy, which would start a pool of threads: privileges belong to threads
# (privilege.py).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
