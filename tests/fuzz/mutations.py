"""Ways to damage a file: some blind, some that know the format and keep the rest of it valid.

Everything is drawn from one generator, so that a case is known by its number.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable

import numpy as np

from tests.fuzz.model_files import VALUES, damage_model, members_of, spoiled_array

Rng = np.random.Generator
Mutation = Callable[[bytes, Rng], bytes]

_NUMBERS = (0, 1, -1, 2, 127, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 10**30)
_TOKENS = (
    *(str(number).encode() for number in _NUMBERS),
    *(
        b"nan",
        b"inf",
        b"-inf",
        b"1e308",
        b"1e-400",
        b"2.5",
        b"",
        b" ",
        b"\0",
        b"a\0",
        b"NA",
        b"None",
        b"true",
    ),
    *(b'"', b"'", b",", b";", b"\t", b"\r", b"\n" * 50, b"\xff\xfe", b"\xed\xa0\x80", b"\xe9", "é".encode()),
    *(b"x" * 200_000, b"[" * 100_000, b'{"a":' * 5000, b"9" * 5000, b"0x10", b"1_000", b"=1+1", b"\\u0000"),
)


def _anywhere(content: bytes, rng: Rng, size: int = 1) -> int:
    return int(rng.integers(max(len(content) - size, 0) + 1))


def flip_bits(content: bytes, rng: Rng) -> bytes:
    """Flip one to eight bits."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 9))):
        if changed:
            changed[_anywhere(content, rng) % len(changed)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def cut(content: bytes, rng: Rng) -> bytes:
    """Keep only the beginning."""
    return content[: _anywhere(content, rng)]


def drop(content: bytes, rng: Rng) -> bytes:
    """Leave out a stretch."""
    start, length = _anywhere(content, rng), int(rng.integers(1, 64))
    return content[:start] + content[start + length :]


def repeat(content: bytes, rng: Rng) -> bytes:
    """Put a stretch in once more, or many times."""
    start, length = _anywhere(content, rng), int(rng.integers(1, 64))
    return content[:start] + content[start : start + length] * int(rng.integers(2, 40)) + content[start:]


def overwrite(content: bytes, rng: Rng) -> bytes:
    """Write an interesting number over two, four or eight bytes."""
    size = int(rng.choice([2, 4, 8]))
    number = int(rng.choice(np.array(_NUMBERS[:14], dtype=object))) % (1 << 8 * size)
    at = _anywhere(content, rng, size)
    return content[:at] + number.to_bytes(size, "little") + content[at + size :]


def insert(content: bytes, rng: Rng) -> bytes:
    """Put a hostile text or random bytes in."""
    at = _anywhere(content, rng)
    token = (
        _TOKENS[int(rng.integers(len(_TOKENS)))]
        if rng.random() < 0.7
        else rng.bytes(int(rng.integers(1, 64)))
    )
    return content[:at] + token + content[at:]


def replace_cell(content: bytes, rng: Rng) -> bytes:
    """Put a hostile text in the place of a word or number."""
    words = list(re.finditer(rb"[\w.+-]+", content))
    if not words:
        return insert(content, rng)
    word = words[int(rng.integers(len(words)))]
    return content[: word.start()] + _TOKENS[int(rng.integers(len(_TOKENS)))] + content[word.end() :]


BLIND: tuple[Mutation, ...] = (flip_bits, cut, drop, repeat, overwrite, insert)


def damage_text(content: bytes, rng: Rng) -> bytes:
    """One to three blind changes, cells above all."""
    for _ in range(int(rng.integers(1, 4))):
        content = replace_cell(content, rng) if rng.random() < 0.5 else _pick(BLIND, rng)(content, rng)
    return content


def damage_gzip(content: bytes, rng: Rng) -> bytes:
    """Damage the packed bytes, or pack a damaged text, or pack far too much."""
    kind = rng.random()
    if kind < 0.4:
        return _pick(BLIND, rng)(content, rng)
    if kind < 0.95:
        return gzip.compress(damage_text(gzip.decompress(content), rng), mtime=0)
    return gzip.compress(bytes([int(rng.choice([0, 10, 32, 120]))]) * 100_000_000, compresslevel=1, mtime=0)


def damage_binary(content: bytes, rng: Rng) -> bytes:
    """One to three blind changes."""
    for _ in range(int(rng.integers(1, 4))):
        content = _pick(BLIND, rng)(content, rng)
    return content


def damage_archive(content: bytes, rng: Rng) -> bytes:
    """Damage an npz file blindly, or one array of it that is packed again as it should be, or pack far too much."""
    if rng.random() < 0.3:
        return damage_binary(content, rng)
    return _bomb(members_of(content), rng) if rng.random() < 0.04 else spoiled_array(content, rng)


def _bomb(members: dict[str, bytes], rng: Rng) -> bytes:
    """A member that is small on disk and a gigabyte when unpacked."""
    name = list(members)[int(rng.integers(len(members)))]
    head, buffer = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (2**27,)})
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for member, content in members.items():
            if member != name:
                file.writestr(member, content)
        with file.open(name, "w", force_zip64=True) as stream:
            stream.write(head.getvalue())
            for _ in range(64):
                stream.write(bytes(2**24))
    return buffer.getvalue()


def _hostile_notes(content: bytes, rng: Rng) -> bytes:
    """Notes of our own in a parquet file, damaged as text or with a hostile value."""
    if rng.random() < 0.2:
        return damage_text(content, rng)
    notes = json.loads(content)
    notes[list(notes)[int(rng.integers(len(notes)))]] = VALUES[int(rng.integers(len(VALUES)))]
    return json.dumps(notes).encode()


def _pick(choices: tuple[Mutation, ...], rng: Rng) -> Mutation:
    return choices[int(rng.integers(len(choices)))]


def damage(name: str, content: bytes, rng: Rng) -> bytes:
    """The content of a file of this name, damaged."""
    if name.endswith(".gz"):
        return damage_gzip(content, rng)
    if name.endswith(".nearer"):
        return damage_model(content, rng)
    if name.endswith(".npz"):
        return damage_archive(content, rng)
    if name.endswith(".parquet"):
        return damage_parquet(content, rng)
    return damage_text(content, rng)


def damage_parquet(content: bytes, rng: Rng) -> bytes:
    """Damage the bytes, or write a valid file with hostile columns or notes of our own."""
    if rng.random() < 0.7:
        return damage_binary(content, rng)
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(content))
    if rng.random() < 0.5:
        notes = (table.schema.metadata or {}).get(b"nearer", b'{"version": 1}')
        table = table.replace_schema_metadata({b"nearer": _hostile_notes(notes, rng)})
    else:
        at = int(rng.integers(table.num_columns))
        token = _TOKENS[int(rng.integers(len(_TOKENS) - 8))]
        column = pa.array([token] * table.num_rows, pa.binary())
        table = table.set_column(at, table.column_names[at], column)
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()
