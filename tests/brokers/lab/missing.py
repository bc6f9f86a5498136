"""What this machine lacks: a reason to skip, never a failure."""


class Missing(Exception):
    """A program, a registry or a right that tests of real servers need is not there; the text says which."""
