"""Damaged and hostile files through every reader: `python -m tests.fuzz --help` runs as many as you like."""
