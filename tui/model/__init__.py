"""The content of panes and pages, computed without a terminal."""
