"""The classes of this package that a saved model may hold."""

from nearer.towers.inputs import Scaling

__all__ = ["Scaling"]
