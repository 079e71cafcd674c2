"""Ways to build comparisons from what a study records: answers, odd ones out, choices, rankings, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from nearer.comparisons.arrays import (
    as_integers,
    as_labels,
    as_rows,
    both_triplets,
    checked_codes,
    encode,
    odd_last,
    oriented,
    per_row,
)
from nearer.comparisons.lists import Lists, TrialFields, encoded, picked_of, probes_of
from nearer.comparisons.responses import Coding, Zero
from nearer.comparisons.store import Container, is_frame
from nearer.comparisons.validation import Invalid, check_names
from nearer.comparisons.votes import answered, votes_of
from nearer.errors import InputError


class TableOptions(TypedDict, total=False):
    """What the builders from tables take besides the table, as `Comparisons.read` does."""

    columns: Mapping[str, str | int] | None
    names: Iterable[str] | None
    n_objects: int | None
    coding: Coding | None
    zero: Zero | None
    codes: Mapping[str, Any] | None
    first_index: int | None
    invalid: Invalid


class Builders(Container):
    """The `from_...` constructors of `Comparisons`."""

    __slots__ = ()

    @classmethod
    def from_responses(
        cls,
        triplets: ArrayLike,
        responses: ArrayLike,
        *,
        coding: Coding | None = None,
        zero: Zero | None = None,
        codes: Mapping[str, Any] | None = None,
        **fields: Unpack[TrialFields],
    ) -> Self:
        """Build comparisons from questions "is i nearer to j or to k?" and their answers.

        Parameters
        ----------
        triplets : array of shape (q, 3) or (q, 4), or DataFrame
            The questions; for four columns "which pair is nearer, the first two or the last two?". The columns
            of a DataFrame are found by their names (`anchor`, `a`, `b`), as in `Comparisons.read`.
        responses : array of shape (q,) or (q, 2)
            `True`, or a positive number, if the first answer won; `False`, or a negative number, if the
            second did. Numbers other than 1 and -1 are counts and become weights. 0 is undecided: the row is
            left out and counted in `n_dropped`. Or words: first and second, left and right, a and b, yes and no,
            or the object chosen. Of shape (q, 2): the votes for either answer; a question with votes on both
            sides makes two rows, in one group.
        coding : {"signs", "position", "object"}, optional
            What responses are, needed if they could be two things: numbers as above; 1 for the first and 2
            for the second; or the object chosen.
        zero : {"undecided", "second"}, optional
            What 0 means; needed only if all responses are 0 or 1, which may be booleans in disguise.
        codes : mapping, optional
            What stands for the `first` and for the `second` answer, if responses are codes such as keys or
            buttons: `{"first": 0, "second": 1}`, `{"first": "f", "second": "j", "undecided": "space"}`. A list
            holds several codes for one answer. Says all that `coding` and `zero` could say.
        **fields
            `n_objects`, `weights`, `annotators`, `groups`, `names` and `invalid` as for `Comparisons`.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> c = Comparisons.from_responses([[0, 1, 2], [0, 1, 3], [1, 2, 3]], [1, -3, 0])
        >>> list(c), c.weights.tolist(), c.n_dropped
        ([(0, 1, 2), (0, 3, 1)], [1.0, 3.0], 1)
        >>> list(Comparisons.from_responses([[0, 1, 2], [0, 1, 3]], [0, 1], codes={"first": 0, "second": 1}))
        [(0, 1, 2), (0, 3, 1)]
        """
        if is_frame(triplets):
            from nearer.comparisons.files.frames import questions_of_frame

            triplets = questions_of_frame(triplets)
        rows = as_rows(triplets)
        (codes_shown,), known = encode([rows], check_names(fields.get("names")))
        named = known if rows.dtype.kind not in "iuf" else None
        invalid = fields.get("invalid", "error")
        votes = votes_of(responses, codes_shown, named, (coding, zero, codes), invalid)
        question, second_won, counts = answered(votes)
        return cls._from_trials(
            oriented(codes_shown[question], second_won),
            question,
            len(rows),
            lambda row: oriented(rows[question[row], None], second_won[row, None])[0].tolist(),
            known,
            counts=None if np.all(counts == 1) else counts,
            grouped=np.ndim(responses) == 2,
            n_dropped=int((~(votes > 0).any(axis=1)).sum()),
            **fields,
        )

    @classmethod
    def from_odd_one_out(
        cls, trials: ArrayLike, *, odd: int | None = None, **fields: Unpack[TrialFields]
    ) -> Self:
        """Build comparisons from odd-one-out trials: three objects were shown and one was named the odd one.

        Every trial makes two triplets in one group: each of the pair left together is nearer to the other
        than to the odd one.

        Parameters
        ----------
        trials : array of shape (q, 3), or DataFrame
            The objects shown.
        odd : {0, 1, 2}, optional
            The column that holds the odd one; by default the last, or what the columns of a DataFrame say, as in
            `Comparisons.read`.
        **fields
            As for `from_responses`, one value per trial.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> c = Comparisons.from_odd_one_out([["cat", "dog", "car"]])
        >>> [tuple(c.names[i] for i in row) for row in c], c.groups.tolist()
        ([('cat', 'dog', 'car'), ('dog', 'cat', 'car')], [0, 0])
        """
        if odd is None and is_frame(trials):
            from nearer.comparisons.files.frames import fields_of_given_frame, says_which_is_odd

            if says_which_is_odd(trials):
                return cls._of(fields_of_given_frame(trials, **fields))
        odd = 2 if odd is None else odd
        rows = as_rows(trials)
        if rows.shape[1] != 3:
            raise InputError(f"an odd-one-out trial has 3 objects, got the shape {rows.shape}")
        if odd not in (0, 1, 2):
            raise InputError(f"must be 0, 1 or 2, the column of the odd one, not {odd!r}", parameter="odd")
        (codes,), names = encode([rows], check_names(fields.get("names")))
        both, cells = (both_triplets(odd_last(part, np.full(len(rows), odd))) for part in (codes, rows))
        trial = np.repeat(np.arange(len(rows)), 2)
        return cls._from_trials(both, trial, len(rows), lambda row: cells[row].tolist(), names, **fields)

    @classmethod
    def from_choices(cls, probe: ArrayLike, shown: Any, chosen: Any, **fields: Unpack[TrialFields]) -> Self:
        """Build comparisons from choices: objects were shown with a probe and the most similar ones picked, "k of m".

        Every object chosen is nearer to the probe than every object shown and not chosen; the rows of a
        screen form a group.

        Parameters
        ----------
        probe : array of shape (s,)
            The probe of every screen.
        shown : array of shape (s, m), DataFrame, or sequences of different lengths
            The objects on offer.
        chosen : array of shape (s,) or (s, k), DataFrame, sequences of different lengths, or booleans of shape (s, m)
            The objects picked, or a mask of those shown.
        **fields
            As for `from_responses`, one value per screen.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> c = Comparisons.from_choices([0], [[1, 2, 3, 4]], [[2, 4]])
        >>> list(c)
        [(0, 2, 1), (0, 2, 3), (0, 4, 1), (0, 4, 3)]
        """
        offered, picked = Lists(shown), Lists(chosen)
        is_mask = picked.flat.dtype.kind == "b"
        picks = picked.flat[:0].astype(np.int64) if is_mask else picked.flat
        (probes, cells, picks), names = encoded(
            probes_of(probe, offered), [(offered, offered.flat), (picked, picks)], fields
        )
        table = offered.fill(cells)
        taken = picked.as_mask(offered) if is_mask else picked_of(table, offered, picked.fill(picks), picked)
        screen, near, far = np.nonzero(taken[:, :, None] & (offered.mask & ~taken)[:, None, :])
        rows = np.column_stack([probes[screen], table[screen, near], table[screen, far]])
        return cls._from_trials(rows, screen, len(table), _by_name(rows, names), names, **fields)

    @classmethod
    def from_rankings(
        cls,
        probe: ArrayLike,
        ranking: Any,
        *,
        pairs: Literal["all", "adjacent"] = "all",
        **fields: Unpack[TrialFields],
    ) -> Self:
        """Build comparisons from rankings: objects in order, those nearest to a probe first.

        Parameters
        ----------
        probe : array of shape (s,)
            The probe of every ranking.
        ranking : array of shape (s, m), DataFrame, or sequences of different lengths
            The objects, nearest first; in a DataFrame, empty cells at the end of a row end its ranking.
        pairs : {"all", "adjacent"}
            Compare every object with all that come after it, or with the next one alone.
        **fields
            As for `from_responses`, one value per ranking. The rows of a ranking form a group.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> list(Comparisons.from_rankings([0], [[3, 1, 2]]))
        [(0, 3, 1), (0, 3, 2), (0, 1, 2)]
        >>> list(Comparisons.from_rankings([0], [[3, 1, 2]], pairs="adjacent"))
        [(0, 3, 1), (0, 1, 2)]
        """
        if pairs not in ("all", "adjacent"):
            raise InputError(f"must be 'all' or 'adjacent', not {pairs!r}", parameter="pairs")
        ranked = Lists(ranking)
        (probes, cells), names = encoded(probes_of(probe, ranked), [(ranked, ranked.flat)], fields)
        table = ranked.fill(cells)
        near, far = np.triu_indices(table.shape[1], 1)
        if pairs == "adjacent":
            near, far = near[far == near + 1], far[far == near + 1]
        trial, pair = np.nonzero(ranked.mask[:, far])
        rows = np.column_stack([probes[trial], table[trial, near[pair]], table[trial, far[pair]]])
        return cls._from_trials(rows, trial, len(table), _by_name(rows, names), names, **fields)

    @classmethod
    def from_frame(cls, frame: Any, **options: Unpack[TableOptions]) -> Self:
        """Build comparisons from a DataFrame of pandas or polars, an Arrow table, or anything that converts to one.

        Parameters
        ----------
        frame : DataFrame
            Columns are found by their names, as in `Comparisons.read`.
        **options
            `columns`, `names`, `n_objects`, `coding`, `zero`, `codes`, `first_index` and `invalid` as for
            `Comparisons.read`.

        Examples
        --------
        >>> import pandas as pd
        >>> from nearer import Comparisons
        >>> frame = pd.DataFrame({"anchor": ["cat"], "near": ["dog"], "far": ["car"], "weight": [2.0]})
        >>> Comparisons.from_frame(frame)
        Comparisons(1 triplet, 3 objects, names, weights)
        """
        from nearer.comparisons.files.frames import fields_of_frame

        return cls._of(fields_of_frame(frame, **options))

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]], **options: Unpack[TableOptions]) -> Self:
        """Build comparisons from dicts, one per comparison; keys are the column names of `Comparisons.read`.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> list(Comparisons.from_records([{"anchor": 0, "a": 1, "b": 2, "response": -1}]))
        [(0, 2, 1)]
        """
        from nearer.comparisons.files.frames import fields_of_records

        return cls._of(fields_of_records(records, **options))

    @classmethod
    def from_cblearn(cls, query: Any, response: Any = None, **fields: Unpack[TrialFields]) -> Self:
        """Build comparisons from formats of cblearn: "list-order", "list-boolean", "list-count", the sparse tensor.

        Parameters
        ----------
        query : array of shape (q, 3) or (q, 4), or sparse array of shape (n, n, n)
            Rows (i, j, k), or a tensor whose entry at i, j, k is the response (a `sparse.COO`, or a scipy
            sparse matrix of shape (n, n * n)).
        response : array of shape (q,), optional
            As cblearn reads it: booleans, or numbers that are all 0 or 1, say whether j is nearer; other
            numbers count answers for j (positive) or for k (negative), and 0 is undecided.
        **fields
            As for `from_responses`.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> list(Comparisons.from_cblearn([[0, 1, 2], [3, 1, 0]], [True, False]))
        [(0, 1, 2), (3, 0, 1)]
        """
        from nearer.comparisons.cblearn import questions_and_responses

        rows, signed, n_objects = questions_and_responses(query, response)
        fields.setdefault("n_objects", n_objects)
        if signed is None:
            return cls(rows, **fields)
        return cls.from_responses(rows, signed, coding="signs", zero="undecided", **fields)

    @classmethod
    def _from_trials(
        cls,
        codes: np.ndarray,
        trial: np.ndarray,
        n_trials: int,
        cells: Callable[[int], list[Any]],
        known_names: tuple[str, ...] | None,
        *,
        counts: np.ndarray | None = None,
        grouped: bool = True,
        n_dropped: int = 0,
        n_objects: int | None = None,
        weights: ArrayLike | None = None,
        annotators: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        names: Iterable[str] | None = None,
        invalid: Invalid = "error",
    ) -> Self:
        """Build comparisons from rows of codes and the trial that each row comes from; errors show `cells`."""
        row_weights = per_row(weights, n_trials, "weights", np.float64)
        row_weights = None if row_weights is None else row_weights[trial]
        if counts is not None:
            row_weights = counts if row_weights is None else row_weights * counts
        if groups is not None:
            groups = as_integers(as_labels(groups, n_trials, "groups"))[trial]
        elif grouped:
            groups = trial
        content = checked_codes(
            cells,
            codes,
            n_objects,
            weights=row_weights,
            annotators=None if annotators is None else as_labels(annotators, n_trials, "annotators")[trial],
            groups=groups,
            names=known_names,
            invalid=invalid,
            trials=trial,
        )
        content = content._replace(n_dropped=content.n_dropped + n_dropped)
        # names that were found, rather than given, are those of rows that are kept
        found = names is None and n_objects is None
        return cls._of(content.with_used_names() if found and content.n_dropped else content)


def _by_name(codes: np.ndarray, names: tuple[str, ...] | None) -> Callable[[int], list[Any]]:
    """Show rows of codes as people gave them."""

    def cells(row: int) -> list[Any]:
        return [names[code] if names and 0 <= code < len(names) else code for code in codes[row].tolist()]

    return cells
