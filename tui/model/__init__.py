"""What the panes show, without a terminal: which line is which row, what is unfolded, what a byte belongs to."""
