"""Helpers by what they are for: arrays, validation, files, text, interrupts, progress. Nothing here is public."""
