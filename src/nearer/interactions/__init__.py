"""Interactions: who with what, how often or how much, and when. Posts: which tags a user gave to an item."""

from nearer.interactions.interactions import Interactions
from nearer.interactions.posts import Posts

__all__ = ["Interactions", "Posts"]
