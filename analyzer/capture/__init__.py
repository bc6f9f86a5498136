"""Capture files, pipes and growing files to columns of TCP packets. The door is `packets.Packets`."""
