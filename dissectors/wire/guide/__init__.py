"""What pages of all guides share: fields as entries, their lines and their JSON, names that are meant."""
