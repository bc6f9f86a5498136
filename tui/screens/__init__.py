"""The screens: the main screen with its three panes, and the pages and dialogs above it."""
