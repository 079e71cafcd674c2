"""European cities and their coordinates: an example that everybody can check."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EARTH_RADIUS_KM = 6371.0088  # mean radius

# name, latitude north, longitude east, in degrees
_PLACES = (
    ("Amsterdam", 52.373, 4.893),
    ("Athens", 37.984, 23.728),
    ("Barcelona", 41.388, 2.170),
    ("Belgrade", 44.818, 20.457),
    ("Berlin", 52.520, 13.405),
    ("Brussels", 50.847, 4.352),
    ("Bucharest", 44.427, 26.103),
    ("Budapest", 47.498, 19.040),
    ("Copenhagen", 55.676, 12.568),
    ("Dublin", 53.350, -6.260),
    ("Edinburgh", 55.953, -3.189),
    ("Hamburg", 53.551, 9.994),
    ("Helsinki", 60.170, 24.938),
    ("Kyiv", 50.450, 30.523),
    ("Lisbon", 38.722, -9.139),
    ("London", 51.507, -0.128),
    ("Madrid", 40.417, -3.704),
    ("Milan", 45.464, 9.190),
    ("Oslo", 59.914, 10.752),
    ("Paris", 48.857, 2.352),
    ("Prague", 50.088, 14.421),
    ("Rome", 41.903, 12.496),
    ("Sofia", 42.698, 23.322),
    ("Stockholm", 59.329, 18.069),
    ("Vienna", 48.208, 16.373),
    ("Warsaw", 52.230, 21.012),
)


@dataclass(frozen=True, eq=False)
class Cities:
    """Hold names and coordinates of cities.

    Attributes
    ----------
    names : tuple of str
        Names of the cities.
    latitude, longitude : arrays of float
        Degrees, north and east positive.

    Examples
    --------
    >>> from nearer.datasets import cities
    >>> europe = cities()
    >>> km = europe.great_circle_km()
    >>> round(float(km[europe.names.index("London"), europe.names.index("Paris")]))
    343
    """

    names: tuple[str, ...]
    latitude: np.ndarray
    longitude: np.ndarray

    def great_circle_km(self) -> np.ndarray:
        """Return the matrix of great-circle distances in km (haversine formula).

        >>> from nearer.datasets import cities
        >>> cities().great_circle_km().shape
        (26, 26)
        """
        latitude, longitude = np.radians(self.latitude), np.radians(self.longitude)
        north = np.sin((latitude[:, None] - latitude) / 2) ** 2
        east = np.sin((longitude[:, None] - longitude) / 2) ** 2
        chord = north + np.cos(latitude)[:, None] * np.cos(latitude) * east
        return 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(chord))

    def map_xy(self) -> np.ndarray:
        """Return a flat map: km east and km north of the cities' centre (azimuthal equidistant projection).

        Distances and directions from the centre are exact. Those between cities are close to exact at this size.

        >>> from nearer.datasets import cities
        >>> europe = cities()
        >>> east, north = europe.map_xy()[europe.names.index("Lisbon")]
        >>> bool(east < -1000 and north < -500)
        True
        """
        latitude, longitude = np.radians(self.latitude), np.radians(self.longitude)
        x, y, z = _on_the_sphere(latitude, longitude).mean(axis=1)
        centre_latitude, centre_longitude = np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)
        east_of_centre = longitude - centre_longitude
        sin0, cos0 = np.sin(centre_latitude), np.cos(centre_latitude)
        east = np.cos(latitude) * np.sin(east_of_centre)
        north = cos0 * np.sin(latitude) - sin0 * np.cos(latitude) * np.cos(east_of_centre)
        along = sin0 * np.sin(latitude) + cos0 * np.cos(latitude) * np.cos(east_of_centre)
        sine = np.hypot(east, north)
        angle = np.arctan2(sine, along)
        # a city at the centre itself has angle = sine = 0, and angle / sine tends to 1
        stretch = np.divide(angle, sine, out=np.ones_like(angle), where=sine > 0)
        return EARTH_RADIUS_KM * np.stack([stretch * east, stretch * north], axis=1)


def _on_the_sphere(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    return np.stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )


def cities() -> Cities:
    """Return 26 European cities with latitude and longitude.

    Examples
    --------
    Make 2,000 answers to "which is nearer?", enough for a map:

    >>> from nearer.datasets import cities, triplets_from_distances
    >>> europe = cities()
    >>> answers = triplets_from_distances(
    ...     europe.great_circle_km(), 2000, noise=0.05, names=europe.names, random_state=0
    ... )
    >>> answers.names[:3]
    ('Amsterdam', 'Athens', 'Barcelona')
    """
    names, latitude, longitude = zip(*_PLACES, strict=True)
    return Cities(names, np.array(latitude), np.array(longitude))
