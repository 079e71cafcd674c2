"""The classes of this package that a saved model may hold."""

from nearer.coembedding.decisions import Decisions
from nearer.coembedding.rows import Preparation

__all__ = ["Decisions", "Preparation"]
