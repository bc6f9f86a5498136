"""Where the configuration file is looked for."""

from __future__ import annotations

import pytest

from analyzer.config import find

HOME = {"HOME": "/people/me"}


@pytest.mark.parametrize(
    ("environment", "told", "path", "named"),
    [
        (HOME, None, "/people/me/.config/wireanalyze/config.toml", False),
        ({**HOME, "XDG_CONFIG_HOME": "/etc/mine"}, None, "/etc/mine/wireanalyze/config.toml", False),
        ({**HOME, "XDG_CONFIG_HOME": "mine"}, None, "/people/me/.config/wireanalyze/config.toml", False),
        ({**HOME, "XDG_CONFIG_HOME": ""}, None, "/people/me/.config/wireanalyze/config.toml", False),
        ({**HOME, "WIREANALYZE_CONFIG": "a.toml", "XDG_CONFIG_HOME": "/etc"}, None, "a.toml", True),
        ({**HOME, "WIREANALYZE_CONFIG": ""}, None, "/people/me/.config/wireanalyze/config.toml", False),
        ({**HOME, "WIREANALYZE_CONFIG": "a.toml"}, "b.toml", "b.toml", True),
    ],
)
def test_find(environment: dict[str, str], told: str | None, path: str, named: bool) -> None:
    assert find(environment, told) == (path, named)
