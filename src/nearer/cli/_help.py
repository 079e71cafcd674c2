"""Examples shown under each command's help; the tests run every one of them."""

from __future__ import annotations

EXAMPLES = {
    "nearer": [
        "nearer demo",
        "nearer simulate --objects 50 --comparisons 5000 --out answers.csv",
        "nearer fit answers.csv --dim 2 --out model.nearer --report report.html",
    ],
    "fit": [
        "nearer fit answers.csv",
        "nearer fit answers.csv --dim 2 --loss tste --out model.nearer --report report.html",
        "nearer fit answers.csv --loss auto --test-size 0 --max-seconds 60 --jobs 2",
        "nearer fit answers.csv --invalid drop --json > fit.json",
        "nearer fit answers.csv --model kernel --trace-penalty 0.01 --out kernel.nearer",
        "nearer fit answers.csv --model online --out online.nearer",
        "nearer fit more-answers.csv --start online.nearer",
        "nearer fit clicks.csv --model towers --max-epochs 200 --out towers.nearer",
        "nearer fit ratings.csv --model towers --ids names --at-least 4 --hidden none --out towers.nearer",
        "nearer fit songs.csv --model multilabel --labels happy,sad --ignore song,moods --out moods.nearer",
        "nearer fit cups.csv --model metric --labels kind --ignore cup --out metric.nearer",
        "nearer fit tastings.csv --model metric --features cups.csv --out metric.nearer",
        "nearer fit posts.csv --model tags --beta 1 --out tags.nearer",
        "nearer fit friends.csv --model links --graph undirected --beta 5 --out links.nearer",
    ],
    "evaluate": [
        "nearer evaluate model.nearer answers.csv",
        "nearer evaluate model.nearer answers.csv --json",
        "nearer evaluate towers.nearer clicks-later.csv",
        "nearer evaluate moods.nearer songs.csv",
    ],
    "recommend": [
        "nearer recommend towers.nearer --k 10 --out top.csv",
        "nearer recommend towers.nearer --rows names.txt --include-seen",
        "nearer recommend tags.nearer --rows pairs.csv --k 5 --out tags.csv",
    ],
    "export": [
        "nearer export towers.nearer embeddings.parquet",
        "nearer export towers.nearer embeddings.npz",
    ],
    "predict": [
        "nearer predict model.nearer questions.csv",
        "nearer predict model.nearer questions.csv --out predictions.csv",
        "nearer predict moods.nearer songs.csv --out moods.csv",
        "nearer predict links.nearer later.csv",
    ],
    "plot": [
        "nearer plot model.nearer --out map.png",
        "nearer plot model.nearer --labels labels.csv --out map.svg",
        "nearer plot model.nearer --what objective --out objective.png",
    ],
    "simulate": [
        "nearer simulate --objects 100 --dim 2 --comparisons 10000 --noise 0.1 --out answers.csv",
        "nearer simulate --noise ste --kind quadruplets --out answers.parquet --truth truth.csv --seed 1",
        "nearer simulate --strategy random --strategy adaptive --objects 20 --answers 200 --noise ste --plot study.png",
    ],
    "convert": [
        "nearer convert answers.csv answers.parquet",
        "nearer convert answers.jsonl answers.csv --invalid drop",
    ],
    "demo": ["nearer demo", "nearer demo --out demo.html --seed 3"],
}


def examples(command: str) -> str:
    """Return the examples as the end of a help page; typer breaks lines only at empty ones."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"  {line}" for line in EXAMPLES[command])])
