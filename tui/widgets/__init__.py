"""What is painted: panes of lines and bars of one line, each fed by a model and changed only by its own handlers."""
