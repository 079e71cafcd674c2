"""The papers' experiments, and other libraries side by side; `python -m benchmarks --help` runs them."""
