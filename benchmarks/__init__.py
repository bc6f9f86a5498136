"""Speed and memory beside tshark's, on captures that are made here. Run `python -m benchmarks`."""
