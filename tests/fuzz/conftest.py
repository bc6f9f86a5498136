"""Here a dissector's defect is no finding but a failure."""

from tests.golden.conftest import defects_are_raised

__all__ = ["defects_are_raised"]
