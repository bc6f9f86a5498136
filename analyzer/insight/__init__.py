"""What a whole capture tells that no message of it does."""
