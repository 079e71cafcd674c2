"""Properties that hold for any comparisons: round trips, canonical form, groups, noise."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nearer.comparisons import Comparisons
from nearer.comparisons.operations import units_of
from nearer.comparisons.validation import is_missing

# anything a file can hold: no NUL, no lone surrogates
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=6)
SEEDS = st.integers(0, 2**31 - 1)


@st.composite
def comparisons(draw, names=TEXT, labels=TEXT):
    """Random comparisons with any of the optional fields."""
    n, width, q = draw(st.integers(4, 9)), draw(st.sampled_from([3, 4])), draw(st.integers(1, 12))
    rows = draw(st.lists(st.permutations(range(n)), min_size=q, max_size=q))
    per_row = {"min_size": q, "max_size": q}
    weights = st.lists(st.floats(0, 1e300, allow_subnormal=True), **per_row)
    annotators = st.lists(st.integers(-(2**40), 2**40), **per_row) | st.lists(labels, **per_row)
    groups = st.lists(st.integers(0, 4), **per_row)
    return Comparisons(
        [row[:width] for row in rows],
        n,
        weights=draw(st.none() | weights),
        annotators=draw(st.none() | annotators),
        groups=draw(st.none() | groups),
        names=draw(st.none() | st.lists(names, min_size=n, max_size=n, unique=True)),
    )


def round_trip(c, name, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        c.write(path)
        return Comparisons.read(path, **options)


@pytest.mark.parametrize("name", ["a.npz", "a.parquet"])
@given(c=comparisons())
@settings(max_examples=30, deadline=None)
def test_binary_files_keep_everything(name, c):
    back = round_trip(c, name)
    assert back == c
    if c.annotators is not None:
        assert back.annotators.dtype.kind == c.annotators.dtype.kind


def keeps_its_blanks(text):
    return text == text.strip()


def is_no_number(text):
    try:
        float(text)
    except ValueError:
        return True
    return False


PLAIN = TEXT.filter(keeps_its_blanks).filter(is_no_number).filter(lambda text: not is_missing(text))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.jsonl.gz"])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_text_files_keep_everything_but_objects_without_rows(name, data):
    anything = "jsonl" in name  # which has types and quotes of its own
    c = data.draw(comparisons() if anything else comparisons(names=PLAIN, labels=PLAIN))
    assert round_trip(c, name, names=c.names, n_objects=c.n_objects) == c


@given(c=comparisons(names=PLAIN, labels=PLAIN))
@settings(max_examples=30, deadline=None)
def test_names_are_found_again(c):
    assume(c.names is not None)
    back = round_trip(c, "a.csv")
    assert [tuple(back.names[i] for i in row) for row in back] == [
        tuple(c.names[i] for i in row) for row in c
    ]
    assert list(back.names) == sorted(back.names)


@given(c=comparisons())
@settings(max_examples=25, deadline=None)
def test_frames_keep_everything(c):
    assert Comparisons.from_frame(c.to_frame(), names=c.names, n_objects=c.n_objects) == c


@given(c=comparisons(), seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_answers_come_back_in_canonical_form(c, seed):
    """Ask every question either way round, answer truthfully: the winner comes first again."""
    turned = np.random.default_rng(seed).random(len(c)) < 0.5
    questions = np.where(turned[:, None], c.with_noise(1.0).indices, c.indices)
    for responses in (~turned, np.where(turned, -1, 1)):
        back = Comparisons.from_responses(questions, responses, n_objects=c.n_objects, coding="signs")
        assert back.indices.tolist() == c.indices.tolist()


@given(c=comparisons(names=PLAIN), seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_files_of_questions_come_back_whatever_says_who_won(c, seed):
    """The winner by sign, by position or by itself, which may be spelled as a position is."""
    assume(c.shape[1] == 3)
    c = Comparisons(c.indices, c.n_objects, names=c.names)
    turned = np.random.default_rng(seed).random(len(c)) < 0.5
    objects = c.indices if c.names is None else np.array(c.names)[c.indices]
    frame = pd.DataFrame(
        np.where(turned[:, None], objects[:, [0, 2, 1]], objects), columns=["anchor", "a", "b"]
    )
    codings = {"signs": np.where(turned, -1, 1), "position": np.where(turned, 2, 1), "object": objects[:, 1]}
    with tempfile.TemporaryDirectory() as folder:
        for coding, response in codings.items():
            frame.assign(response=response).to_csv(Path(folder) / "a.csv", index=False, quoting=csv.QUOTE_ALL)
            options = {"names": c.names, "n_objects": c.n_objects, "coding": coding}
            assert Comparisons.read(Path(folder) / "a.csv", **options) == c


@given(c=comparisons())
@settings(max_examples=30, deadline=None)
def test_lists_of_cblearn_come_back(c):
    c = Comparisons(c.indices, c.n_objects)
    assert Comparisons.from_cblearn(c.to_cblearn(), n_objects=c.n_objects) == c
    for kind in ("list-boolean", "list-count"):
        back = Comparisons.from_cblearn(*c.to_cblearn(kind), n_objects=c.n_objects)
        assert back.unique().weights.tolist() == c.unique().weights.tolist()
        assert len(Comparisons(np.concatenate([back, c])).unique()) == len(c.unique())


@given(c=comparisons(), seed=SEEDS, size=st.floats(0.01, 0.99), by=st.sampled_from([None, "annotator"]))
@settings(max_examples=50, deadline=None)
def test_no_split_separates_a_group(c, seed, size, by):
    assume(by is None or c.annotators is not None)
    labels = [label for label in (c.groups, c.annotators if by else None) if label is not None]
    assume(len(c) > 1 and all(len(set(label)) > 1 for label in labels))
    if len(labels) == 2:  # groups and annotators may chain all rows together
        assume(len(np.unique(units_of(c._fields, by))) > 1)
    train, test = c.split(size, random_state=seed, by=by)
    assert len(train) + len(test) == len(c)
    assert len(train)
    assert len(test)
    if c.groups is not None:
        assert not set(train.groups) & set(test.groups)
    if by is not None:
        assert not set(train.annotators) & set(test.annotators)


@given(c=comparisons(), seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_shuffling_keeps_the_rows(c, seed):
    assert Counter(c.shuffled(seed)) == Counter(c)


@given(c=comparisons(), seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_turning_all_rows_twice_is_nothing(c, seed):
    assert c.with_noise(1.0, seed).with_noise(1.0, seed + 1) == c


@given(c=comparisons())
@settings(max_examples=30, deadline=None)
def test_unique_keeps_the_weight_and_conflicts_are_counted_by_hand(c):
    assume(c.weights is None or max(c.weights) < 1e6)
    total = len(c) if c.weights is None else c.weights.sum()
    assert c.unique().weights.sum() == pytest.approx(total)
    pairs = [(frozenset(row[:2]), frozenset(row[2:])) for row in c.quadruplets().tolist()]
    reverse = {(far, near) for near, far in pairs}
    assert c.conflicts().n_rows == sum(pair in reverse for pair in pairs)
    assert len(c.unique()) == len(set(pairs))
