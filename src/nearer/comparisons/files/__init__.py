"""Files and tables of comparisons: csv, parquet, jsonl, npz and data frames. Nothing here is public."""
