"""Reads captures into columns of TCP packets. The entry point is `packets.PacketReader`."""
