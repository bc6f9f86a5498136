"""RocketMQ's requests, header classes and layouts as text and JSON.

Theory. The tables that decode a command also describe it: layouts.py makes classes and parts into lines and JSON,
requests.py a page for each request code, numbers.py lists what numbers and names mean, pages.py knows which pages there
are. guide.json has what no table needs for decoding; what neither knows is not said.
"""

from dissectors.rocketmq.guide.pages import GUIDE

__all__ = ["GUIDE"]
