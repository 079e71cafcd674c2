"""Comparisons: who is nearer to whom, how sure, by whom; built from answers, read from files."""

from nearer.comparisons.comparisons import Comparisons, Conflicts

__all__ = ["Comparisons", "Conflicts"]
