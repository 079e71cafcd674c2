"""The frozen store beneath `Posts`: checks, attributes and a repr."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.text import counted
from nearer.comparisons.arrays import per_row
from nearer.comparisons.validation import row_place
from nearer.errors import InputError
from nearer.interactions._frozen import Frozen
from nearer.interactions.arrays import cells_of_side, codes_of_side, named, size_of
from nearer.interactions.post_content import SIDES, Duplicates, PostContent, settled_posts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class PostStore(Frozen):
    """Checked posts; `Posts` adds the ways in and out."""

    __slots__ = ()
    _fields: PostContent
    _noun = "posts"

    def __init__(
        self,
        users: ArrayLike,
        items: ArrayLike,
        tags: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        n_users: int | None = None,
        n_items: int | None = None,
        n_tags: int | None = None,
        user_names: Iterable[str] | None = None,
        item_names: Iterable[str] | None = None,
        tag_names: Iterable[str] | None = None,
        duplicates: Duplicates = "refuse",
    ) -> None:
        cells = [
            cells_of_side(given, f"{side}s") for given, side in zip((users, items, tags), SIDES, strict=True)
        ]
        lengths = [len(values) for values in cells]
        if len(set(lengths)) > 1:
            raise InputError(
                f"have {lengths[0]}, {lengths[1]} and {lengths[2]} entries", "give one of each per row",
                parameter="users, items, tags",
            )  # fmt: skip
        given = zip(
            cells, SIDES, (n_users, n_items, n_tags), (user_names, item_names, tag_names), strict=True
        )
        codes, sizes, names = zip(*(_side(*one) for one in given), strict=True)
        rows = per_row(weights, lengths[0], "weights", np.float64)
        content = PostContent(np.stack(codes, axis=1), sizes, names, rows)
        self._freeze(settled_posts(content, duplicates, row_place))

    def csr(self) -> csr_matrix:
        """Return which tags each post has, as a matrix of ones of shape (n_posts, n_tags)."""
        from scipy.sparse import csr_matrix

        starts = np.append(self._fields.first_rows(), len(self))
        shape = self.n_posts, self.shape[2]
        return csr_matrix((np.ones(len(self)), self.tags.copy(), starts), shape=shape)

    def post_weights(self) -> np.ndarray | None:
        """Return the weight of each post, None if all are 1."""
        return None if self.weights is None else self.weights[self._fields.first_rows()]

    @property
    def users(self) -> np.ndarray:
        """The user of each row, ascending."""
        return self._fields.codes[:, 0]

    @property
    def items(self) -> np.ndarray:
        """The item of each row."""
        return self._fields.codes[:, 1]

    @property
    def tags(self) -> np.ndarray:
        """The tag of each row."""
        return self._fields.codes[:, 2]

    @property
    def weights(self) -> np.ndarray | None:
        """The weight of the post of each row, or None if all weigh 1."""
        return self._fields.weights

    @property
    def pairs(self) -> np.ndarray:
        """User and item of each post (n_posts, 2)."""
        return self._fields.codes[self._fields.first_rows(), :2]

    @property
    def n_posts(self) -> int:
        """The number of posts: different pairs of a user and an item."""
        return len(self._fields.first_rows())

    @property
    def shape(self) -> tuple[int, int, int]:
        """`(n_users, n_items, n_tags)`, with posts or without."""
        n_users, n_items, n_tags = self._fields.sizes
        return n_users, n_items, n_tags

    @property
    def user_names(self) -> tuple[str, ...] | None:
        """The name of every user, or None."""
        return self._fields.names[0]

    @property
    def item_names(self) -> tuple[str, ...] | None:
        """The name of every item, or None."""
        return self._fields.names[1]

    @property
    def tag_names(self) -> tuple[str, ...] | None:
        """The name of every tag, or None."""
        return self._fields.names[2]

    def __len__(self) -> int:
        return len(self._fields.codes)

    def __repr__(self) -> str:
        users, items, tags = self.shape
        parts = [
            f"{counted(self.n_posts, 'post')} with {counted(len(self), 'tag')}",
            *(counted(users, "user"), counted(items, "item"), counted(tags, "different tag")),
        ]
        named = [f"{side} names" for side in SIDES if getattr(self, f"{side}_names") is not None]
        parts += ["names"] if len(named) == 3 else named
        parts += ["weights"] if self.weights is not None else []
        parts += [f"{self.n_dropped:,} dropped"] if self.n_dropped else []
        parts += [f"ignored columns: {', '.join(self.ignored_columns)}"] if self.ignored_columns else []
        return f"Posts({', '.join(parts)})"


def _side(
    cells: np.ndarray, side: str, size: int | None, names: Iterable[str] | None
) -> tuple[np.ndarray, int, tuple[str, ...] | None]:
    codes, known = codes_of_side(cells, side, size, named(side, names))
    return codes, size_of(codes, size, known, side), known
