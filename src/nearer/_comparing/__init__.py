"""The parts of `Comparisons`: its frozen store, checks, builders and operations. Nothing here is public."""
