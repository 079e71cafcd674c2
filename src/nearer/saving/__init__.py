"""Models in files: `save` and `load`."""

from nearer.saving.models import load, save

__all__ = ["load", "save"]
