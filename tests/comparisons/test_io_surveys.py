"""Tables as survey tools write them: codes for answers, rows that are not answers, responses that are not used."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from nearer.comparisons import Comparisons
from nearer.errors import InputError, InputWarning
from tests.refusals import refused, says
from tests.tables import named, write_frame, write_table

QUESTIONS = ["cat,dog,car", "cat,bus,dog", "dog,cat,bus", "bus,car,cat"]
FIRST_WON = [True, False, True, False]
TRUTH = [("cat", "dog", "car"), ("cat", "dog", "bus"), ("dog", "cat", "bus"), ("bus", "cat", "car")]


@pytest.fixture(params=["answers.csv", "answers.parquet", "answers.jsonl", "frame", "records"])
def read(tmp_path, request):
    """Read a table given as csv, by any of the ways in."""

    def read(text, **options):
        if request.param in ("frame", "records"):
            frame = pd.read_parquet(write_table(tmp_path / "frame.parquet", text))
            if request.param == "frame":
                return Comparisons.from_frame(frame, **options)
            return Comparisons.from_records(frame.to_dict("records"), **options)
        return Comparisons.read(write_table(tmp_path / request.param, text), **options)

    return read


def table(header, first, second):
    said = [first if won else second for won in FIRST_WON]
    return "\n".join([header, *(f"{row},{cell}" for row, cell in zip(QUESTIONS, said, strict=True))]) + "\n"


class TestNames:
    @pytest.mark.parametrize(
        "header",
        [
            "reference,left,right,key",
            "reference,option1,option2,choice",
            "target,choice1,choice2,response",
            "standard,left,right,chosen",
            "sample,stim_a,stim_b,resp",
            "query,image_left,image_right,key_resp.keys",
            "ref_image,left_image,right_image,key_resp_2.keys",
            "reference,item1,item2,button_pressed",
            "anchor,alternative_1,alternative_2,selection",
            "stim_target,object1,object2,mouse.clicked_name",
        ],
    )
    def test_options_and_responses(self, read, header):
        assert named(read(table(header, "left", "right"))) == TRUTH
        first, second = header.split(",")[1:3]
        assert named(read(table(header, first, second))) == TRUTH

    def test_what_is_about_a_response_is_none(self, read):
        for column in ("response_time", "key_resp.rt", "correct_key", "ResponseId"):
            with refused("'a'", offers=["columns"]):
                read(table(f"anchor,a,b,{column}", "1", "2"))

    def test_two_responses_leave_a_doubt(self, read):
        text = "reference,left,right,answer,key\ncat,dog,car,left,right\ncat,bus,dog,left,left\n"
        with refused("'answer' and 'key'", offers=[("columns", {"response": ...})]):
            read(text)
        assert named(read(text, columns={"response": "key"}))[0] == ("cat", "car", "dog")
        assert named(read(text.replace("answer", "response")))[0] == ("cat", "dog", "car")

    def test_three_options_are_too_many(self, read):
        text = "reference,option1,option2,option3,choice\ncat,dog,car,bus,option1\ncat,dog,car,bus,option3\n"
        with refused("'option1', 'option2', 'option3'", "from_choices", offers=["columns"]):
            read(text)

    def test_two_pairs_of_options(self, read):
        with refused("image1 and image2", "word1 and word2", offers=["columns"]):
            read("anchor,image1,image2,word1,word2,choice\nx,a,b,c,d,left\n")

    def test_the_name_of_a_column_beats_a_word(self, read):
        columns = {"anchor": "x", "a": "right", "b": "left", "response": "key"}
        assert named(read("x,left,right,key\ncat,dog,car,left\n", columns=columns)) == [("cat", "dog", "car")]
        arrows = "x,left,right,key\ncat,dog,car,ArrowLeft\n"
        assert named(read(arrows, columns=columns)) == [("cat", "dog", "car")]
        columns = {"anchor": "x", "a": "right", "b": "other", "response": "key"}
        text = "x,other,right,key\ncat,dog,car,right\n"
        assert named(read(text, columns=columns)) == [("cat", "car", "dog")]
        with refused("'left'", column="key"):
            read(text + "cat,dog,car,left\n", columns=columns)


def columns_offered(read, text):
    """Return the settings of columns that a refusal offers, each with the case that it is for."""
    with refused(offers=["columns"]) as caught:
        read(text)
    offered = [step for step in caught.value.remedy if getattr(step, "name", "") == "columns"]
    assert all(step.purpose.startswith("if ") for step in offered)
    return offered


class TestAdvice:
    @pytest.mark.parametrize("header", ["x,y,z,key", "x,y,z,my choice", "x,left,right,resp.keys"])
    def test_a_response_is_never_left_out(self, read, header):
        name = header.split(",")[-1]
        assert [
            sorted(step.value.items())[-1] for step in columns_offered(read, table(header, "left", "right"))
        ] == [
            ("response", name),
            ("odd", name),
        ]

    def test_a_response_of_unknown_name(self, read):
        offered = columns_offered(read, table("x,y,z,what", "left", "right"))
        assert [list(step.value)[-1] for step in offered] == ["far", "response", "odd"]
        question, nearer = columns_offered(read, table("reference,left,right,what", "left", "right"))
        assert question.value["response"] is ...
        assert nearer.value == {"anchor": "reference", "near": "left", "far": "right"}

    def test_a_header_is_not_called_a_comparison(self, tmp_path):
        path = tmp_path / "answers.csv"
        path.write_text(table("x,left,right,what", "left", "right"))
        with refused(offers=["columns"], hides=["header"]):
            Comparisons.read(path)

    def test_names_that_cannot_be_typed_are_given_by_position(self, read):
        question, _ = columns_offered(read, "x,y,z,choice={1}\ncat,dog,car,1\n")
        assert question.value["response"] == 3

    @pytest.mark.parametrize("cells", [("left", "right"), ("1", "2"), ("f", "j"), ("0", "1")])
    def test_an_unused_response_is_warned_of(self, read, cells):
        columns = {"anchor": "reference", "near": "left", "far": "right"}
        with pytest.warns(UserWarning, match="'key' looks like a response.*'response': 'key'"):
            c = read(table("reference,left,right,key", *cells), columns=columns)
        assert len(c) == 4

    def test_unused_objects_that_were_chosen_are_warned_of(self, read):
        rows = "cat,dog,car,dog\ncat,bus,dog,dog\ndog,cat,bus,cat\n"
        for header, options in (
            ("anchor,near,far,x", {}),
            ("i,left,right,x", {"columns": {"near": "left", "far": "right"}}),
        ):
            with pytest.warns(InputWarning) as caught:
                read(f"{header}\n{rows}", **options)
            says(caught[0].message, "'x'", "response", offers=["columns"])

    def test_other_columns_are_not_warned_of(self, read):
        rows = "cat,dog,car,{}\ncat,bus,dog,{}\ndog,cat,bus,{}\nbus,car,cat,{}\n"
        columns = {"near": "left", "far": "right"}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read("anchor,near,far,winner_again\n" + rows.format("dog", "bus", "cat", "car"))
            read("anchor,near,far,key\n" + rows.format("f", "j", "f", "j"))
            read("anchor,left,right,block\n" + rows.format(1, 2, 1, 2), columns=columns)
            read("anchor,left,right,rt\n" + rows.format(411, 522, 633, 744), columns=columns)
            read("anchor,left,right,response_time\n" + rows.format(1, 2, 1, 2), columns=columns)

    @pytest.mark.parametrize("cells", [("left", "right"), ("1", "2"), ("-1", "1")])
    def test_four_columns_without_names(self, tmp_path, cells):
        path = tmp_path / "answers.csv"
        questions = [f"n{i},n{(i + 1) % 9},n{(i + 3) % 9}" for i in range(9)] * 3
        path.write_text("".join(f"{row},{cells[at % 2]}\n" for at, row in enumerate(questions)))
        offered = columns_offered(Comparisons.read, path)
        assert [list(step.value.items())[-1] for step in offered] == [("response", 3), ("far_b", 3)]
        rows = [line.split(",") for line in path.read_text().splitlines()]
        with refused(offers=["columns"], file="the frame"):
            Comparisons.from_frame(pd.DataFrame(rows))

    def test_four_columns_of_numbers(self, tmp_path):
        rng = np.random.default_rng(0)
        rows = np.argsort(rng.random((30, 12)), axis=1)[:, :4]
        path = tmp_path / "answers.csv"
        np.savetxt(path, rows, fmt="%d", delimiter=",")
        assert Comparisons.read(path).shape == (30, 4)
        rows[:, 3] = rng.integers(1, 3, 30)
        np.savetxt(path, rows, fmt="%d", delimiter=",")
        with refused(offers=["columns"], file=str(path)):
            Comparisons.read(path)
        columns = {"anchor": 0, "a": 1, "b": 2, "response": 3}
        c = Comparisons.read(path, columns=columns, coding="position", invalid="drop")
        assert next(iter(c)) == tuple(rows[0, [0, *((1, 2) if rows[0, 3] == 1 else (2, 1))]])


class TestCodes:
    @pytest.mark.parametrize(
        ("first", "second", "codes"),
        [
            ("0", "1", {"first": 0, "second": 1}),
            ("1", "0", {"first": 1, "second": 0}),
            ("f", "J", {"first": "F", "second": "j"}),
            ("37", "39", {"first": 37.0, "second": "39"}),
            ("true", "false", {"first": True, "second": False}),
            ("left", "right", {"first": "right", "second": "left"}),
        ],
    )
    def test_two_codes(self, read, first, second, codes):
        c = read(table("anchor,a,b,response", first, second), codes=codes)
        expected = TRUTH if first != "left" else [(i, k, j) for i, j, k in TRUTH]
        assert named(c) == expected
        assert c.weights is None

    def test_several_codes_and_undecided(self, read):
        text = table("anchor,a,b,response", "q", "p") + "cat,dog,car,space\ncat,dog,car,w\n"
        c = read(text, codes={"first": ["q", "w"], "second": "p", "undecided": "space"})
        assert named(c) == [*TRUTH, ("cat", "dog", "car")]
        assert c.n_dropped == 1

    def test_other_cells_are_invalid(self, read):
        text = table("anchor,a,b,response", "f", "j") + "cat,dog,car,x\n"
        codes = {"first": "f", "second": "j"}
        with refused("'x'", column="response", offers=["invalid"]):
            read(text, codes=codes)
        assert named(read(text, codes=codes, invalid="drop")) == TRUTH

    @pytest.mark.parametrize(
        ("codes", "shown"),
        [
            ({"first": 0}, "'second'"),
            ({"first": 0, "second": 0}, "'0'"),
            ({"first": 0, "second": 1, "third": 2}, "'third'"),
            ({"left": 0, "right": 1}, "'left'"),
            (["f", "j"], "['f', 'j']"),
        ],
    )
    def test_refusals(self, read, codes, shown):
        with refused(shown, parameter="codes"):
            read(table("anchor,a,b,response", 0, 1), codes=codes)

    def test_codes_go_with_responses_alone(self, read):
        codes = {"first": 0, "second": 1}
        with refused(parameter="codes", offers=[("columns", {"response": ...})]):
            read("anchor,near,far\ncat,dog,car\n", codes=codes)
        for other in ({"zero": "second"}, {"coding": "position"}):
            with refused(parameter="codes"):
                read(table("anchor,a,b,response", 0, 1), codes=codes, **other)

    def test_arrays(self):
        rows = [[0, 1, 2], [0, 3, 1], [1, 2, 3]]
        codes = {"first": "f", "second": "j", "undecided": "x"}
        c = Comparisons.from_responses(rows, ["f", "J", "x"], codes=codes)
        assert (list(c), c.n_dropped) == ([(0, 1, 2), (0, 1, 3)], 1)
        zero = Comparisons.from_responses(rows, np.array([0, 1, 0]), codes={"first": 0, "second": 1})
        assert list(zero) == [(0, 1, 2), (0, 1, 3), (1, 2, 3)]
        with refused("3 of 3", row=0, offers=["codes"], hides=["invalid"]):
            Comparisons.from_responses(rows, ["f", "j", "f"])

    def test_odd_ones_from_zero(self, read):
        text = "image1,image2,image3,odd\ncat,car,dog,1\nbus,dog,cat,2\ncar,dog,cat,0\n"
        with refused("if 0 stands for 'image1'", offers=[("codes", {"first": 0, "second": 1, "third": 2})]):
            read(text)
        expected = [("cat", "dog", "car"), ("bus", "dog", "cat"), ("dog", "cat", "car")]
        assert named(read(text, codes={"first": 0, "second": 1, "third": 2}))[::2] == expected
        with refused(offers=["codes"], hides=["coding"]):
            read(text, coding="position")
        with refused("'third'", parameter="codes"):
            read(text, codes={"first": 0, "second": 1})

    def test_odd_ones_in_codes(self, read):
        text = "image1,image2,image3,odd\ncat,car,dog,s\nbus,dog,cat,d\ncar,dog,cat,a\ncar,bus,cat,x\n"
        with refused("4 of 4", "'s'", offers=["codes"], hides=["invalid"]):
            read(text)
        c = read(text, codes={"first": "a", "second": "s", "third": "d", "undecided": "x"})
        assert named(c)[::2] == [("cat", "dog", "car"), ("bus", "dog", "cat"), ("dog", "cat", "car")]
        assert (c.n_dropped, c.groups.tolist()) == (1, [0, 0, 1, 1, 2, 2])

    def test_odd_indices_offer_what_fits_all_of_them(self, read):
        with refused(offers=[("codes", {"first": 0, "second": 1, "third": 2})], hides=["coding"]):
            read("a,b,c,odd\n5,1,2,1\n1,2,7,0\n8,4,9,2\n")


class TestNumbers:
    @pytest.mark.parametrize("cells", [("37", "39"), ("1", "3"), ("2", "2"), ("0.5", "1.5"), ("0", "0")])
    def test_numbers_that_are_never_negative_leave_a_doubt(self, read, cells):
        with refused() as caught:
            read(table("anchor,a,b,response", *cells))
        assert all(isinstance(step, str) or step.purpose for step in caught.value.remedy)
        assert len(caught.value.remedy) > 1

    def test_ratings(self, read):
        rows = [f"{row},{10 * n}" for n, row in enumerate(QUESTIONS * 2)]
        with refused("negative", offers=[("coding", "signs")], hides=["codes"]):
            read("\n".join(["anchor,a,b,response", *rows]) + "\n")

    def test_counts_by_hand(self, read):
        text = table("anchor,a,b,response", 3, 9)
        assert read(text, coding="signs").weights.tolist() == [3, 9, 3, 9]
        assert read(table("anchor,a,b,response", 3, -9)).weights.tolist() == [3, 9, 3, 9]

    def test_positions_are_not_from_zero(self, read):
        with refused(parameter="coding", offers=[("codes", {"first": 0, "second": 1}), ("zero", "second")]):
            read(table("anchor,a,b,response", 0, 1), coding="position")

    def test_answers_that_cannot_be_read_are_not_dropped_in_silence(self, read):
        text = table("anchor,a,b,response", "a", "l")
        both = [("codes", {"first": "a", "second": "l"}), ("codes", {"first": "l", "second": "a"})]
        with refused(
            "2 of 4", "'l'", "if 'a' stands for 'a' and 'l' for 'b'", offers=both, hides=["invalid"]
        ):
            read(text)
        with pytest.warns(InputWarning, match="2 of 4 .*'l'"):
            assert len(read(text, invalid="drop")) == 2

    def test_rows_without_objects_say_nothing_about_responses(self, read):
        text = table("anchor,a,b,response", "left", "right") + ",,,space\n,,,space\n"
        c = read(text, invalid="drop")
        assert (named(c), c.n_dropped) == (TRUTH, 2)


def qualtrics(header, texts, rows):
    names = header.split(",")
    return [names, texts, [json.dumps({"ImportId": name}) for name in names], *rows]


def written(path, rows):
    header, *data = rows
    return write_frame(path, pd.DataFrame(data, columns=header))


class TestQualtrics:
    rows = qualtrics(
        "ResponseId,anchor,near,far,weight",
        ["Response ID", "Anchor\nof all", "Which is nearer, dear?", "The other", "w"],
        [
            ["R_1", "cat", "dog", "car", "2"],
            ["R_2", "dog", "cat", "car", "3"],
            ["R_3", "cat", "cat", "bus", "1"],
        ],
    )

    @pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
    def test_extra_rows_are_left_out(self, tmp_path, name):
        path = written(tmp_path / name, self.rows)
        with pytest.warns(UserWarning, match=rf"{name}: left out the first 2 rows .*Qualtrics"):
            c = Comparisons.read(path, invalid="drop")
        assert named(c) == [("cat", "dog", "car"), ("dog", "cat", "car")]
        assert (c.names, c.n_dropped, c.weights.tolist()) == (("car", "cat", "dog"), 1, [2, 3])
        place = {"a.csv": "line 7", "a.jsonl": "line 5", "a.parquet": "row 4"}[name]
        with pytest.raises(InputError, match=rf"{place}\b"):
            Comparisons.read(path)

    def test_frames_and_records(self):
        frame = pd.DataFrame(self.rows[1:], columns=self.rows[0])
        for read in (
            lambda: Comparisons.from_frame(frame, invalid="drop"),
            lambda: Comparisons.from_records(frame.to_dict("records"), invalid="drop"),
            lambda: Comparisons(frame, invalid="drop"),
        ):
            with pytest.warns(UserWarning, match="Qualtrics"):
                c = read()
            assert (len(c), c.names, c.n_dropped) == (2, ("car", "cat", "dog"), 1)

    def test_indices(self, tmp_path):
        rows = qualtrics(
            "id,anchor,a,b,response", ["i", "x", "y", "z", "Which?"], [["R", 0, 1, 2, 1], ["R", 2, 0, 1, 2]]
        )
        path = written(tmp_path / "a.csv", rows)
        with pytest.warns(UserWarning, match="Qualtrics"):
            c = Comparisons.read(path, coding="position")
        assert (list(c), c.names) == ([(0, 1, 2), (2, 1, 0)], None)

    def test_ragged_rows_below(self, tmp_path):
        path = written(tmp_path / "a.csv", self.rows)
        path.write_text(path.read_text() + "R_4,cat,dog\nR_5,car,dog,cat,1\n")
        with pytest.warns(UserWarning, match="Qualtrics"):
            c = Comparisons.read(path, invalid="drop")
        assert (len(c), c.n_dropped) == (3, 2)

    def test_nothing_below(self, tmp_path):
        path = written(tmp_path / "a.csv", self.rows[:3])
        with refused(file=str(path)):
            Comparisons.read(path)


def test_keys_that_the_first_record_lacks(tmp_path):
    """Screens of instructions come first in what jsPsych writes."""
    path = tmp_path / "answers.jsonl"
    records = [{"rt": 900, "response": " "}]
    for row, won in zip(QUESTIONS, FIRST_WON, strict=True):
        said = "left" if won else "right"
        records.append(
            {
                "rt": 700,
                "response": said,
                **dict(zip(("reference", "left", "right"), row.split(","), strict=True)),
            }
        )
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with refused(line=1, offers=["invalid"]):
        Comparisons.read(path)
    c = Comparisons.read(path, invalid="drop")
    assert (named(c), c.n_dropped) == (TRUTH, 1)


def test_positions_of_columns_are_no_answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("7,cat,dog,car,2\n8,cat,dog,bus,1\n9,cat,bus,car,2\n7,dog,cat,bus,1\n")
    columns = {"anchor": 1, "a": 2, "b": 3, "response": 4}
    c = Comparisons.read(path, columns=columns, coding="position")
    assert named(c)[:2] == [("cat", "car", "dog"), ("cat", "dog", "bus")]


class TestObjects:
    def test_of_rows_that_were_left_out_are_none(self, read):
        c = read("anchor,near,far\ncat,dog,car\nbus,bus,van\ncat,car,dog\n", invalid="drop")
        assert (c.names, c.n_objects, c.n_dropped) == (("car", "cat", "dog"), 3, 1)
        undecided = read("anchor,a,b,response\ncat,dog,car,1\ncat,bus,van,0\ncat,car,dog,-1\n")
        assert (undecided.names, undecided.n_dropped) == (("car", "cat", "dog"), 1)

    def test_given_names_stay(self, read):
        names = ["van", "bus", "cat", "dog", "car"]
        assert read(
            "anchor,near,far\ncat,dog,car\nbus,bus,van\n", invalid="drop", names=names
        ).names == tuple(names)

    def test_arrays(self):
        rows = [("cat", "dog", "car"), ("bus", "bus", "van"), ("dog", "cat", "car")]
        c = Comparisons(rows, invalid="drop")
        assert (named(c), c.names) == ([rows[0], rows[2]], ("car", "cat", "dog"))
        assert Comparisons.from_odd_one_out(rows, invalid="drop").names == ("car", "cat", "dog")
        ranked = Comparisons.from_rankings(["cat", "van"], [["dog", "car"], ["van", "bus"]], invalid="drop")
        assert (ranked.names, ranked.n_dropped) == (("car", "cat", "dog"), 1)
        picked = Comparisons.from_choices(
            ["cat", "van"], [["dog", "car"], ["van", "bus"]], ["dog", "bus"], invalid="drop"
        )
        assert (named(picked), picked.names) == ([("cat", "dog", "car")], ("car", "cat", "dog"))

    def test_a_header_in_the_middle(self, read):
        text = "anchor,near,far\ncat,dog,car\nanchor,near,far\ndog,cat,car\n"
        with refused("(anchor, near, far)", offers=["invalid"]):
            read(text)
        assert read(text, invalid="drop").names == ("car", "cat", "dog")
