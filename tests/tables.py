"""Small tables for tests, in any of the formats."""

from __future__ import annotations

import json

import pandas as pd


def named(c):
    return [tuple(c.names[i] for i in row) for row in c]


def write_table(path, text):
    """A table given as csv, in the format that the name of the file stands for."""
    if path.suffix == ".csv":
        path.write_text(text)
        return path
    header, *rows = (line.split(",") for line in text.splitlines())
    frame = pd.DataFrame(rows, columns=header)
    for column in frame:
        frame[column] = numbers_or_text(frame[column])
    return write_frame(path, frame)


def write_frame(path, frame):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in frame.to_dict("records")))
    return path


def numbers_or_text(column):
    try:
        return pd.to_numeric(column)
    except ValueError:
        return column
