"""Small valid files of every kind, which mutations then damage."""

from __future__ import annotations

import gzip
import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import nearer

_TEXTS = {
    "triplets.csv": "anchor,near,far,weight,annotator,group\ncat,dog,car,1,ann,1\ndog,cat,bus,2,bob,1\n",
    "semicolons.csv": "anchor;near;far\n0;1;2\n1;2;3\n3;0;1\n",
    "responses.csv": "anchor,a,b,response\ncat,dog,car,1\ndog,car,cat,-1\nbus,car,cat,0\n",
    "odd.csv": 'a,b,c,odd\n"cat","dog","car",3\ndog,car,bus,1\n',
    "quadruplets.tsv": "near_a\tnear_b\tfar_a\tfar_b\n0\t1\t2\t3\n1\t2\t0\t3\n",
    "bare.txt": "0 1 2\n1 2 3\n3 1 0\n",
    "triplets.jsonl": '{"anchor": "a", "near": "b", "far": "c", "weight": 2}\n{"anchor": "é", "near": "b", "far": "c"}',
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
    return found


@cache
def models() -> dict[str, bytes]:
    """Saved models by name, one for every kind of state that an estimator can hold."""
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name, estimator in _fitted().items():
            path = nearer.save(estimator, Path(folder) / "model.nearer")
            found[f"{name}.nearer"] = path.read_bytes()
    return found


def _fitted() -> dict[str, object]:
    answers, _ = nearer.datasets.planted(8, 2, 120, random_state=0)
    named = nearer.Comparisons(answers.indices, names=[f"object {i}" for i in range(8)])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)

    def auc(**settings):
        return nearer.AUCClassifier(random_state=0, **settings)

    selector = nearer.active.Selector(8, random_state=0)
    selector.tell(answers[:30])
    return {
        "embedding": nearer.OrdinalEmbedding(2, loss="tste", random_state=0, max_epochs=5).fit(named),
        "kernel": nearer.RelativeKernel(trace_penalty=0.01).fit(answers),
        "online": nearer.OnlineKernel(8, random_state=0, passes=2).partial_fit(named),
        "online_rank": nearer.OnlineKernel(8, rank=3, passes=3, random_state=0).partial_fit(answers),
        "auc": auc().fit(X, y),
        "auc_stream": auc(solver="olp").partial_fit(X, y, [0, 1]),
        "auc_moments": auc(solver="opauc", loss="square").partial_fit(X, y, [0, 1]),
        "auc_saddle": auc(solver="solam", loss="square").partial_fit(X, y, [0, 1]),
        "auc_fourier": auc(model="rff").fit(X, y),
        "metric": nearer.PairwiseLearner(pair="metric", n_components=2, random_state=0).fit(X, y),
        "ranking": nearer.PairwiseLearner(pair="ranking", random_state=0).fit(X, X[:, 1].round()),
        "features": nearer.FeatureMap(gamma=1.0).fit(X[:10], X[:10, :2]),
        "selector": selector,
    }


def archive(members: dict[str, bytes]) -> bytes:
    """A zip of members that are stored as they are, as `nearer.save` and `numpy.savez` write it."""
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def members_of(content: bytes) -> dict[str, bytes]:
    """The members of a zip."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}
