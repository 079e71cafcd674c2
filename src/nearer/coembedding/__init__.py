"""Metrics of features and spaces of rows and labels, learned as convex problems by growing factors.

`nearer.MetricLearner` reads its input (`inputs.py`) as one of four tasks (`tasks.py`) and turns it into terms of an
objective (`terms.py`). `nearer.CoEmbeddingClassifier` reads labels (`labels.py`), prepares rows (`rows.py`), and finds
thresholds and probabilities on held-out rows (`decisions.py`). Both choose the strength of the trace penalty along a
path (`choosing.py`) and minimise (`fitting.py`).
"""
