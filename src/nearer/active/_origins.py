"""Keep the origin of answers: who gave each, and which trial it comes from."""

from __future__ import annotations

import numpy as np

#: annotator of answers that came without one, if others came with one
UNKNOWN = "unknown"


class Origins:
    """Collect the annotators and groups of answers in their order.

    >>> origins = Origins()
    >>> origins.add(2, np.array([7, 8]), None)
    >>> origins.annotators
    array([7, 8])
    >>> origins.add(1, None, None)
    >>> origins.annotators.tolist()
    ['7', '8', 'unknown']
    """

    def __init__(self) -> None:
        self._parts: list[tuple[int, np.ndarray | None, np.ndarray | None]] = []

    def add(self, count: int, annotators: np.ndarray | None, groups: np.ndarray | None) -> None:
        """Add the annotators and groups of `count` answers."""
        plain = annotators is None and groups is None
        if plain and self._parts and self._parts[-1][1] is None and self._parts[-1][2] is None:
            count += self._parts.pop()[0]
        self._parts.append((count, annotators, groups))

    @property
    def annotators(self) -> np.ndarray | None:
        """Return who gave each answer, as int64 or strings, or None if this is unknown for all."""
        parts = [(count, annotators) for count, annotators, _ in self._parts if count]
        kinds = {None if annotators is None else annotators.dtype.kind for _, annotators in parts}
        if kinds <= {None}:
            return None
        if len(kinds) == 1:
            return np.concatenate([annotators for _, annotators in parts if annotators is not None])
        texts = [np.full(count, UNKNOWN) if who is None else who.astype(str) for count, who in parts]
        return np.concatenate(texts)

    @property
    def groups(self) -> np.ndarray | None:
        """Return one number per answer, equal within a trial, or None if no trial has several answers.

        Answers added at different times belong to different trials.
        """
        if all(groups is None for _, _, groups in self._parts):
            return None
        numbered, next_one = [], 0
        for count, _, groups in self._parts:
            numbers = np.arange(count) if groups is None else np.unique(groups, return_inverse=True)[1]
            numbered.append(next_one + numbers)
            next_one += int(numbers.max(initial=-1)) + 1
        return np.concatenate(numbered).astype(np.int64)
