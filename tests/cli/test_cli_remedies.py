"""Files as survey tools write them: each is read rightly, or a message offers what reads it rightly.

The messages are tested by doing what they say: every option that one offers is taken from it and tried.
"""

from __future__ import annotations

import csv
import io
import re
import shlex

import numpy as np
import pytest

NAMES = ("ape", "bee", "cow", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kiwi", "lynx")
OPTION = re.compile(
    r"--(columns|codes|coding|zero|invalid|first-index) ('[^']*'|[^\s;,](?:[^\s;]*[^\s;,])?)|--no-header"
)


def asked(n=60):
    """Questions about points: anchor, two options, and whether the first is nearer."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(len(NAMES), 2))
    for _ in range(n):
        i, j, k = rng.choice(len(NAMES), 3, replace=False)
        near = np.sum((points[i] - points[j]) ** 2) < np.sum((points[i] - points[k]) ** 2)
        yield NAMES[i], NAMES[j], NAMES[k], bool(near)


ASKED = list(asked())
TRUTH = [(i, j, k) if first else (i, k, j) for i, j, k, first in ASKED]
ODD = [n % 3 for n in range(len(ASKED))]
ODD_TRUTH = [
    triplet
    for (*shown, _), odd in zip(ASKED, ODD, strict=True)
    for rest in [[name for at, name in enumerate(shown) if at != odd]]
    for triplet in ((*rest, shown[odd]), (*rest[::-1], shown[odd]))
]


def table(header, rows, delimiter=","):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(
        [*([header] if header else []), *rows]
    )
    return text.getvalue()


def answers(header, first, second, delimiter=","):
    """One question per row: anchor, the options, and the response."""
    names = header.split(delimiter) if header else None
    return table(names, [(i, j, k, first if won else second) for i, j, k, won in ASKED], delimiter)


def chosen(header):
    return table(header.split(","), [(i, j, k, j if won else k) for i, j, k, won in ASKED])


def odd(header, codes):
    return table(
        header.split(","), [(i, j, k, codes[at]) for (i, j, k, _), at in zip(ASKED, ODD, strict=True)]
    )


def wide(header, row):
    """Rows of any layout; `row` gets the number of the question, its objects and whether the first won."""
    return table(header.split(","), [row(n, *question) for n, question in enumerate(ASKED)])


def jspsych():
    rows = []
    for i, j, k, won in ASKED:
        rows += [(500, "+", "null", "html-keyboard-response", "", "", "")]
        rows += [(812, "<p>?", 0 if won else 1, "html-button-response", i, j, k)]
    return table(["rt", "stimulus", "response", "trial_type", "reference", "left", "right"], rows)


def qualtrics(header, row, texts):
    names = header.split(",")
    ids = [f'{{"ImportId":"{name}"}}' for name in names]
    return table(names, [texts, ids, *(row(*question) for question in ASKED)])


# what the file holds, by its name; what columns are, for a message that asks to fill them in
FILES = {
    "key": answers("reference,left,right,key", "left", "right"),
    "arrows": answers("reference,left,right,key", "ArrowLeft", "ArrowRight"),
    "choice": answers("reference,option1,option2,choice", 1, 2),
    "response": chosen("target,choice1,choice2,response"),
    "column names": answers("sample,stim_1,stim_2,response", "stim_1", "stim_2"),
    "chosen": answers("standard,left,right,chosen", "f", "j"),
    "a and l": answers("standard,left,right,key", "a", "l"),
    "from zero": answers("anchor,a,b,response", 0, 1),
    "booleans": answers("anchor,a,b,response", 1, 0),
    "key codes": answers("reference,left,right,key_press", 37, 39),
    "semicolons": answers("Reference;Option A;Option B;Answer", "A", "B", ";"),
    "psychopy": wide(
        "trials.thisN,ref_image,left_image,right_image,corrAns,key_resp.keys,key_resp.rt,participant",
        lambda n, i, j, k, won: (n, i, j, k, "left", "left" if won else "right", 0.5, "p1"),
    ),
    "two keys": wide(
        "reference,left,right,start_resp.keys,key_resp.keys",
        lambda n, i, j, k, won: (i, j, k, "space", "left" if won else "right"),
    ),
    "jspsych": jspsych(),
    "gorilla": wide(
        "Event Index,Reaction Time,Response,Correct,Answer,reference,image_left,image_right",
        lambda n, i, j, k, won: (n, 400, "left" if won else "right", 1, "left", i, j, k),
    ),
    "labjs": wide(
        "sender,response,duration,correctResponse,target,left,right",
        lambda n, i, j, k, won: ("Trial", "left" if won else "right", 700, "left", i, j, k),
    ),
    "qualtrics": qualtrics(
        "StartDate,ResponseId,anchor,a,b,response",
        lambda i, j, k, won: ("2024-05-01", "R_1", i, j, k, 1 if won else 2),
        ["Start Date", "Response ID", "anchor", "a", "b", "Which is nearer\nto the first?"],
    ),
    "qualtrics near": qualtrics(
        "ResponseId,anchor,near,far",
        lambda i, j, k, won: ("R_1", i, *((j, k) if won else (k, j))),
        ["Response ID", "The first", "Which is nearer?", "The other"],
    ),
    "no header": answers("", "left", "right"),
    "no header, objects": table(None, [(i, j, k, j if won else k) for i, j, k, won in ASKED]),
    "unknown": answers("x,y,z,what", "left", "right"),
    "unknown choice": answers("x,y,z,my choice", 1, 2),
    "odd": odd("image1,image2,image3,odd", (1, 2, 3)),
    "odd from zero": odd("image1,image2,image3,odd", (0, 1, 2)),
    "odd keys": odd("image1,image2,image3,odd", ("a", "s", "d")),
    "odd response": odd("image1,image2,image3,response", (1, 2, 3)),
}
FILLED = {
    "two keys": {"response": "key_resp.keys"},
    "unknown": {
        "anchor": "x",
        "a": "y",
        "b": "z",
        "response": "what",
        "near": "y",
        "far": "z",
        "c": "z",
        "odd": "what",
    },
    "unknown choice": {"anchor": "x", "a": "y", "b": "z", "c": "z"},
    "odd keys": {"first": "a", "second": "s", "third": "d"},
    "odd response": {"anchor": "image1", "a": "image1", "b": "image2", "c": "image3"},
}


def offered(message):
    """The options that a message offers, each with the words that say when it is right."""
    found = list(OPTION.finditer(message))
    ends = [one.start() for one in found[1:]] + [len(message)]
    return [(shlex.split(one[0]), message[one.end() : end]) for one, end in zip(found, ends, strict=True)]


def filled(option, name):
    """An option with what the user fills in."""
    for part, value in FILLED.get(name, {}).items():
        option = [re.sub(rf"\b{part}=(COLUMN|CODE)", f"{part}={value}", word) for word in option]
    return option


def combined(options, more):
    """Options with another one, which replaces one of its kind; codes replace a coding."""
    replaced = {"--codes": ("--codes", "--coding", "--zero")}.get(more[0], (more[0],))
    return [one for one in options if one[0] not in replaced] + [more]


def readings(run, tmp_path, name, options=(), depth=0):
    """All that a file can be read as by doing what messages say: options, the words for them, rows, warnings."""
    out = tmp_path / "out.tsv"
    typed = [word for option in options for word in option]
    result = run("convert", "answers.csv", out, *typed)
    if result.exit_code == 0:
        rows = [tuple(line.split("\t")[:3]) for line in out.read_text().splitlines()[1:]]
        return [(options, "", rows, result.stderr)]
    ways = offered(result.stderr)
    assert ways, f"{options}: nothing is offered: {result.stderr}"
    assert depth < 4, f"{options}: the messages lead nowhere: {result.stderr}"
    found = []
    for option, words in ways:
        option = filled(option, name)
        if re.search("COLUMN|CODE", " ".join(option)):
            continue  # the user has nothing to fill in here
        later = readings(run, tmp_path, name, combined(options, option), depth + 1)
        found += [(done, words + more, rows, warned) for done, more, rows, warned in later]
    return found


@pytest.mark.parametrize("name", FILES)
def test_messages_lead_to_what_people_answered(run, tmp_path, name):
    (tmp_path / "answers.csv").write_text(FILES[name])
    truth = ODD_TRUTH if name.startswith("odd") else TRUTH
    found = readings(run, tmp_path, name)
    assert truth in [rows for _, _, rows, _ in found], found
    for options, words, rows, warned in found:
        if rows != truth:
            explained = re.search(r"\b(if|with)\b", words) or "looks like a response" in warned
            assert explained, (options, words)


@pytest.mark.parametrize(
    "name", ["key", "arrows", "response", "column names", "semicolons", "gorilla", "labjs", "psychopy", "odd"]
)
def test_what_is_beyond_doubt_needs_no_option(run, tmp_path, name):
    (tmp_path / "answers.csv").write_text(FILES[name])
    result = run("convert answers.csv out.tsv")
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("name", FILES)
def test_no_advice_leaves_a_response_out_in_silence(run, tmp_path, name):
    """Taking the options for the nearer and the farther one is warned of, wherever a message led to it or not."""
    (tmp_path / "answers.csv").write_text(FILES[name])
    for options, _, _, warned in readings(run, tmp_path, name):
        if "near=" in str(options) and name != "qualtrics near":
            assert "looks like a response" in warned, options


@pytest.mark.parametrize("cells", ["left right", "1 2", "0 1", "f j", "chosen"])
def test_options_taken_for_answers_are_warned_of(run, tmp_path, cells):
    text = (
        chosen("reference,left,right,what")
        if cells == "chosen"
        else answers("reference,left,right,key", *cells.split())
    )
    (tmp_path / "answers.csv").write_text(text)
    result = run("convert answers.csv out.tsv --columns anchor=reference,near=left,far=right", exits=0)
    assert result.stderr.count("\n") == 1
    assert "looks like a response" in result.stderr
    (option, words), *more = offered(result.stderr)
    assert not more
    assert "if" in words
    again = run("convert", "answers.csv", "out.tsv", *option)
    assert (again.exit_code == 0) == (cells in ("left right", "chosen"))


def test_reversal_is_never_offered_without_words(run, tmp_path):
    (tmp_path / "answers.csv").write_text(FILES["from zero"])
    message = run("convert answers.csv out.tsv").stderr
    by_option = {" ".join(option): words for option, words in offered(message)}
    assert "0 stands for 'a' and 1 for 'b'" in by_option["--codes first=0,second=1"]
    assert "1 says that 'a' is nearer and 0 that 'b' is" in by_option["--zero second"]
    assert "nobody can tell" in by_option["--zero undecided"]
    run("convert answers.csv out.tsv --coding position", exits=2, says=["--codes first=0,second=1"])


def test_codes(run, tmp_path):
    (tmp_path / "answers.csv").write_text(FILES["chosen"])
    run("convert answers.csv out.csv --codes 'first=F, second=j'", exits=0)
    for codes, part in [
        ("first=f", "second"),
        ("first=f,second=f", "--codes has 'f' for two answers"),
        ("left=f,right=j", "--codes has the key 'left'"),
        ("first=f,second=j,third=k", "third"),
        ("f,j", "write answer=code pairs"),
    ]:
        run("convert", "answers.csv", "out.csv", "--codes", codes, exits=2, says=[part])
    run("convert answers.csv out.csv --codes first=f,second=j --zero second", exits=2, says=["--codes"])
    (tmp_path / "plain.csv").write_text("anchor,near,far\nape,bee,cow\n")
    run("convert plain.csv out.csv --codes first=f,second=j", exits=2, says=["plain.csv"])


def test_other_commands_point_to_convert(run, tmp_path):
    (tmp_path / "answers.csv").write_text(FILES["from zero"])
    run(
        "simulate --strategy random --replay answers.csv",
        exits=2,
        says=["--codes first=0,second=1", "nearer convert"],
    )
