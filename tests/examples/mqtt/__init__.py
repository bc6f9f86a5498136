"""MQTT 3.1.1 and 5.0 (OASIS standards), as a plug-in: dissector.py; bulk.py is optional, and for speed."""
