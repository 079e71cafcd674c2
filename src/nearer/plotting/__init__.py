"""Draw maps and fits.

Every function returns a new matplotlib `Figure`. No window opens, and pyplot is not used.
`figure.savefig("map.png")` (or `.svg`, `.pdf`) writes it. Functions with one panel can also draw into your
own `ax`.

>>> import numpy as np
>>> figure = plot_map(np.eye(2), names=["left", "right"])
>>> [text.get_text() for text in figure.axes[0].texts]
['left', 'right']
"""

from nearer.plotting.charts import plot_dimension_choice, plot_learning_curve, plot_step_sizes, plot_study
from nearer.plotting.coembedding import plot_coembedding
from nearer.plotting.comparison import plot_comparison_of_maps
from nearer.plotting.maps import plot_map

__all__ = [
    "plot_coembedding",
    "plot_comparison_of_maps",
    "plot_dimension_choice",
    "plot_learning_curve",
    "plot_map",
    "plot_step_sizes",
    "plot_study",
]
