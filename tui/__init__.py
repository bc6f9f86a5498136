"""The Textual front end over the analyzer's session."""
