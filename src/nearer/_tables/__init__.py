"""Comparisons from and to tables: csv, parquet, jsonl and data frames. Nothing here is public; see `nearer.io`."""
