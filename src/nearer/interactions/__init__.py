"""Interactions: who with what, how often or how much, and when; built from arrays, read from files."""

from nearer.interactions.interactions import Interactions

__all__ = ["Interactions"]
