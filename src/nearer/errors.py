"""Errors a user can act on: one sentence with the file, the row, the value and the remedy."""

from __future__ import annotations


class InputError(ValueError):
    """Data or a setting that nearer cannot use; the message says what to do about it."""


class ModelFileError(InputError):
    """A model file that cannot be read: damaged, foreign, or from a newer version."""
