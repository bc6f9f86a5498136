"""The widgets: panes of lines and bars of one line. Each shows a model and is changed only by its own handlers."""
