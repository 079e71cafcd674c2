"""Pictures of maps and fits.

Every function returns a matplotlib `Figure` that belongs to nobody else: no window opens, pyplot is not
touched, and `figure.savefig("map.png")` (or `.svg`, `.pdf`) writes it. Those with one panel also draw into an
`ax` of yours.

>>> import numpy as np
>>> figure = plot_map(np.eye(2), names=["left", "right"])
>>> [text.get_text() for text in figure.axes[0].texts]
['left', 'right']
"""

from nearer.plotting.choices import plot_dimension_choice
from nearer.plotting.comparison import plot_comparison_of_maps
from nearer.plotting.curves import plot_learning_curve, plot_step_sizes
from nearer.plotting.maps import plot_map
from nearer.plotting.studies import plot_study

__all__ = [
    "plot_comparison_of_maps",
    "plot_dimension_choice",
    "plot_learning_curve",
    "plot_map",
    "plot_step_sizes",
    "plot_study",
]
