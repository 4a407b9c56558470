"""What is derived from a store to find records fast: a database in `.memcli/` that may be deleted at any time."""
