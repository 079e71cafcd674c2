"""The cases of `same_answers.py`, how two records are compared, and how two checkouts are timed."""
