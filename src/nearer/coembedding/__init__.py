"""Metrics of features, learned as convex problems by growing factors.

The estimator is `nearer.MetricLearner`. It reads its input (`inputs.py`) as one of four tasks (`tasks.py`), turns that
into terms of an objective (`terms.py`), and chooses the strength of the trace penalty along a path (`choosing.py`).
"""
