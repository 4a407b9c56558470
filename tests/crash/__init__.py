"""Crash tests: kill or fail a command at every call that changes a file, and enumerate what a power cut may leave."""
