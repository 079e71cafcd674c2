"""Small valid files of every kind, which mutations then damage."""

from __future__ import annotations

import gzip
import tempfile
from functools import cache
from pathlib import Path

import nearer
from tests.saved_models import MODELS

_TEXTS = {
    "triplets.csv": "anchor,near,far,weight,annotator,group\ncat,dog,car,1,ann,1\ndog,cat,bus,2,bob,1\n",
    "semicolons.csv": "anchor;near;far\n0;1;2\n1;2;3\n3;0;1\n",
    "responses.csv": "anchor,a,b,response\ncat,dog,car,1\ndog,car,cat,-1\nbus,car,cat,0\n",
    "odd.csv": 'a,b,c,odd\n"cat","dog","car",3\ndog,car,bus,1\n',
    "quadruplets.tsv": "near_a\tnear_b\tfar_a\tfar_b\n0\t1\t2\t3\n1\t2\t0\t3\n",
    "bare.txt": "0 1 2\n1 2 3\n3 1 0\n",
    "triplets.jsonl": '{"anchor": "a", "near": "b", "far": "c", "weight": 2}\n{"anchor": "é", "near": "b", "far": "c"}',
    "pairs_ratings.csv": "user,item,rating,date\nann,tea,5,2024-05-31T12:00\nbob,rum,2,2024-06-01\n",
    "pairs_numbers.tsv": "user_id\tmovie_id\tplays\ttime\n0\t3\t5\t10\n1\t2\t1\t11\n2\t0\t4\t9\n",
    "pairs_bare.txt": "0 1\n1 2\n3 1\n1 2\n",
    "pairs_named.jsonl": '{"user": "a", "item": 3, "weight": 2, "time": 7}\n{"user": "é", "item": 0, "time": 1}',
    "posts_named.csv": "user,item,tag,weight\nann,tea,hot,2\nann,tea,green,2\nbob,milk,cold,1\n",
    "posts_numbers.tsv": "user_id\titem_id\ttag_id\n0\t3\t5\n1\t2\t1\n2\t0\t4\n0\t3\t1\n",
    "posts_named.jsonl": '{"user": "a", "item": 3, "tag": "x"}\n{"user": "é", "item": 0, "tag": "y"}',
    "numbers.ndjson": '{"anchor": 0, "near": 1, "far": 2}\n{"anchor": 1, "near": 2, "far": 3}\n',
}


@cache
def tables() -> dict[str, bytes]:
    """Valid tables by file name."""
    found = {name: text.encode() for name, text in _TEXTS.items()}
    for name in ("triplets.csv", "triplets.jsonl"):
        found[name + ".gz"] = gzip.compress(found[name], mtime=0)
    named = nearer.Comparisons(
        [("cat", "dog", "car"), ("dog", "cat", "bus"), ("car", "bus", "cat")],
        weights=[1, 2, 1],
        annotators=["ann", "bob", "ann"],
        groups=[0, 0, 1],
    )
    plain = nearer.Comparisons([(0, 1, 2, 3), (1, 2, 3, 0)], 6)
    with tempfile.TemporaryDirectory() as folder:
        for stem, answers in (("named", named), ("plain", plain)):
            for ending in ("parquet", "npz"):
                path = Path(folder) / f"{stem}.{ending}"
                answers.write(path)
                found[path.name] = path.read_bytes()
        seen = nearer.Interactions(["ann", "bob"], [0, 4], weights=[2, 1], times=[5, 6], n_right=7)
        for ending in ("parquet", "npz"):
            seen.write(path := Path(folder) / f"pairs_written.{ending}")
            found[path.name] = path.read_bytes()
        posts = nearer.Posts.from_array([("ann", "tea", "hot"), ("bob", "milk", "cold")])
        posts.write(path := Path(folder) / "posts_written.parquet")
        found[path.name] = path.read_bytes()
    return found


@cache
def models() -> dict[str, bytes]:
    """Saved models by file name, one or more per family."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            f"{name}.nearer": nearer.save(make(), Path(folder) / "model.nearer").read_bytes()
            for name, make in MODELS.items()
        }
