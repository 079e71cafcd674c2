"""Search along a direction for a step that fulfils the Wolfe conditions; `line_search_reference.py` has it in numpy.

A search is an array `bracket` of float64 numbers at the positions named below: the step to try next, the value and the
slope where the search begins, and the two ends between which the step lies, with value and slope at each. The upper
end is infinite until a step was too long.
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.curvature import inner, moved
from nearer._compiled.decorators import exact_loop, loop
from nearer._compiled.line_search_reference import (
    DECREASE,
    HIGH,
    HIGH_SLOPE,
    HIGH_VALUE,
    INSIDE,
    LONGEST,
    LOW,
    LOW_SLOPE,
    LOW_VALUE,
    MOST_TRIALS,
    SHORTEST,
    SLOPE,
    SLOPE_LEFT,
    STEP,
    VALUE,
)
from nearer._compiled.points import gradients, join


@exact_loop
def judge(bracket, value, rise):
    """Return whether the step that was tried will do; if not, put the next one into the bracket.

    `value` and `rise` are the objective and its slope at the end of the step. The arithmetic is exact, so that a
    search takes the same steps in Python and within a loop.
    """
    step, slope = bracket[STEP], bracket[SLOPE]
    if not value <= bracket[VALUE] + DECREASE * step * slope:
        bracket[HIGH], bracket[HIGH_VALUE], bracket[HIGH_SLOPE] = step, value, rise
    elif rise < SLOPE_LEFT * slope:
        bracket[LOW], bracket[LOW_VALUE], bracket[LOW_SLOPE] = step, value, rise
    else:
        return True
    if bracket[HIGH] == math.inf:  # where a line through both slopes is zero
        share = slope / (slope - rise) if rise > slope else math.inf
        bracket[STEP] = step * min(max(share, SHORTEST), LONGEST)
    else:
        bracket[STEP] = _between(bracket)
    return False


@exact_loop
def _between(bracket):
    """Return the minimum of the cubic through both ends of a bracket, but not too close to either."""
    low, low_slope, high, high_slope = bracket[LOW], bracket[LOW_SLOPE], bracket[HIGH], bracket[HIGH_SLOPE]
    width = high - low
    if not (math.isfinite(bracket[HIGH_VALUE]) and math.isfinite(high_slope)):
        return low + INSIDE * width
    mean = 3 * (bracket[LOW_VALUE] - bracket[HIGH_VALUE]) / width + low_slope + high_slope
    root = mean * mean - low_slope * high_slope
    step = low + width / 2
    if root > 0:
        root = math.sqrt(root)
        step = high - width * (high_slope + root - mean) / (high_slope - low_slope + 2 * root)
    return min(max(step, low + INSIDE * width), high - INSIDE * width)


@loop
def search(code, parameters, Q, W, C, shrink, x, direction, bracket, trial, G):
    """Search with the objective of points: the mean of the losses of the comparisons Q plus shrink |X|².

    `trial` holds the end of the first step if that is 1. Return how many gradients were taken and the value; the
    accepted point is then in `trial` and its gradient in G (n, p). After a search that failed the number is negative.

    A search in one call hardly ever waits for Python's lock, if other fits run in threads.
    """
    starts, parts, totals = np.array([0, Q.shape[0]]), G.reshape((1, G.shape[0], G.shape[1])), np.empty(1)
    X = trial.reshape(G.shape)
    for count in range(1, MOST_TRIALS + 1):
        if bracket[STEP] != 1.0 or count > 1:
            moved(x, direction, bracket[STEP], trial)
        gradients(code, parameters, X, Q, W, C, starts, parts, totals)
        penalty = join(parts, Q.shape[0], shrink, X)
        value = totals[0] / Q.shape[0] + penalty
        if judge(bracket, value, inner(G.reshape(-1), direction)):
            return count, value
    return -MOST_TRIALS, np.nan
