"""The screens: the three panes, and what opens above them."""
