"""The incident page: one self-contained HTML file of a capture's findings, reports, charts and messages."""
