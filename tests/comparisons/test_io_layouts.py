"""What columns of a table say: responses in words, the object chosen, odd ones out, labels."""

from __future__ import annotations

import pytest

from nearer.comparisons import Comparisons
from tests.refusals import refused
from tests.tables import named


class TestResponses:
    @pytest.mark.parametrize(
        "header", ["anchor,a,b,response", "probe,left,right,Choice", "i,first,second,answer"]
    )
    @pytest.mark.parametrize("words", ["left right", "First SECOND", "A b", "yes no", "True false", "1 -1"])
    def test_words(self, read, header, words):
        first, second = words.split()
        c = read(f"{header}\ncat,dog,car,{first}\ncat,dog,bus,{second}\n")
        assert named(c) == [("cat", "dog", "car"), ("cat", "bus", "dog")]
        assert c.weights is None

    @pytest.mark.parametrize("column", ["response", "chosen", "choice", "winner", "nearer", "picked"])
    def test_the_object_chosen(self, read, column):
        c = read(f"anchor,left,right,{column}\ncat,dog,car,dog\ncat,dog,bus,BUS\n")
        assert named(c) == [("cat", "dog", "car"), ("cat", "bus", "dog")]
        assert c.ignored_columns == ()

    def test_an_object_that_was_not_shown(self, read):
        with refused("'cow'", column="response", offers=["invalid"]):
            read("anchor,a,b,response\ncat,dog,car,dog\ncat,dog,bus,cow\n")
        dropped = read("anchor,a,b,response\ncat,dog,car,dog\ncat,dog,bus,cow\n", invalid="drop")
        assert dropped.n_dropped == 1

    def test_names_that_differ_in_case_alone(self, read):
        text = "anchor,a,b,response\nx,Cat,cat,cat\nx,Cat,cat,Cat\n"
        assert named(read(text)) == [("x", "cat", "Cat"), ("x", "Cat", "cat")]
        with refused("'CAT'", column="response"):
            read(text + "x,Cat,cat,CAT\n")

    def test_a_word_that_is_also_an_object(self, read):
        text = "anchor,a,b,response\nx,a,b,a\nx,b,a,a\n"
        with refused(offers=[("coding", "position"), ("coding", "object")]):
            read(text)
        assert named(read(text, coding="position")) == [("x", "a", "b"), ("x", "b", "a")]
        assert named(read(text, coding="object")) == [("x", "a", "b"), ("x", "a", "b")]

    def test_ones_and_twos(self, read):
        text = "anchor,a,b,response\ncat,dog,car,1\ncat,dog,bus,2\n"
        with refused("(1, 2)", offers=[("coding", "position"), ("coding", "signs")]):
            read(text)
        assert named(read(text, coding="position")) == [("cat", "dog", "car"), ("cat", "bus", "dog")]
        assert read(text, coding="position").weights is None
        assert read(text, coding="signs").weights.tolist() == [1, 2]
        with refused("3", column="response", offers=["invalid"]):
            read(text + "cat,dog,bus,3\n", coding="position")

    def test_counts_are_beyond_doubt(self, read):
        assert read("anchor,a,b,response\n0,5,6,1\n0,5,7,1\n0,5,8,-3\n").weights.tolist() == [1, 1, 3]

    def test_indices_of_the_objects_chosen(self, read):
        text = "anchor,a,b,winner\n0,5,6,6\n1,7,8,7\n"
        with refused(offers=[("coding", "object"), ("coding", "signs")]):
            read(text)
        assert list(read(text, coding="object")) == [(0, 6, 5), (1, 7, 8)]
        assert list(read(text, coding="signs")) == [(0, 5, 6), (1, 7, 8)]
        with refused("9", column="winner", offers=["invalid"]):
            read(text + "1,7,8,9\n", coding="object")

    def test_quadruplets_take_positions(self, read):
        text = "near_a,near_b,far_a,far_b,response\na,b,c,d,first\na,b,c,d,second\n"
        assert named(read(text)) == [("a", "b", "c", "d"), ("c", "d", "a", "b")]

    def test_columns_that_disagree_about_the_winner(self, read):
        text = "anchor,near,far,choice\ncat,dog,car,left\ncat,dog,bus,right\n"
        with refused("'choice'", "'near' and 'far'", offers=["columns"]):
            read(text)
        assert named(read(text, columns={"near": "near", "far": "far"})) == [
            ("cat", "dog", "car"),
            ("cat", "dog", "bus"),
        ]
        assert named(read(text, columns={"response": "choice"}))[1] == ("cat", "bus", "dog")

    def test_options_by_hand(self, read):
        columns = {"anchor": "x", "a": "y", "b": "z", "response": "r"}
        assert named(read("x,y,z,r\ncat,dog,car,z\n", columns=columns)) == [("cat", "car", "dog")]
        with refused("'y'", offers=["columns"]):
            read("x,y,z\ncat,dog,car\n", columns={"anchor": "x", "a": "y", "b": "z"})

    def test_zero_is_for_signs(self, read):
        with refused("'second'", "'object'", parameter="zero"):
            read("anchor,a,b,response\n0,5,6,6\n", coding="object", zero="second")


class TestOddOneOut:
    expected = (("cat", "dog", "car"), ("dog", "cat", "car"), ("bus", "dog", "cat"), ("dog", "bus", "cat"))

    @pytest.mark.parametrize(
        "text",
        [
            "a,b,odd\ncat,dog,car\nbus,dog,cat\n",
            "odd,first,second\ncar,cat,dog\ncat,bus,dog\n",
            "left,right,odd_one_out\ncat,dog,car\nbus,dog,cat\n",
            "item1,item2,odd\ncat,dog,car\nbus,dog,cat\n",
            "a,b,c,odd\ncat,car,dog,car\nbus,dog,cat,Cat\n",
            "image_1,image_2,image_3,Odd-One-Out\ncat,car,dog,car\nbus,dog,cat,cat\n",
            "left,middle,right,odd\ncat,car,dog,middle\nbus,dog,cat,RIGHT\n",
            "i,j,k,odd\ncat,car,dog,2\nbus,dog,cat,3\n",
            "left_object,center_object,right_object,odd\ncat,car,dog,2\nbus,dog,cat,3\n",
        ],
    )
    def test_layouts(self, read, text):
        c = read(text)
        assert tuple(named(c)) == self.expected
        assert c.groups.tolist() == [0, 0, 1, 1]

    def test_labels_and_weights_are_those_of_the_trial(self, read):
        c = read("a,b,odd,weight,worker,screen,rt\ncat,dog,car,2,ann,7,300\nbus,dog,cat,3,bob,7,400\n")
        assert c.weights.tolist() == [2, 2, 3, 3]
        assert c.annotators.tolist() == ["ann", "ann", "bob", "bob"]
        assert c.groups.tolist() == [7] * 4
        assert c.ignored_columns == ("rt",)

    def test_columns_by_hand(self, read):
        text = "image,other,third,answer\ncat,car,dog,car\n"
        columns = {"a": "image", "b": "other", "c": "third", "odd": "answer"}
        assert named(read(text, columns=columns)) == [("cat", "dog", "car"), ("dog", "cat", "car")]
        assert named(read(text, columns={"a": 0, "b": 2, "odd": "other"}))[0] == ("cat", "dog", "car")

    def test_a_position_or_an_index(self, read):
        assert list(read("a,b,c,odd\n5,6,7,2\n8,1,0,2\n3,4,9,9\n"))[::2] == [(5, 7, 6), (8, 0, 1), (3, 4, 9)]
        text = "a,b,c,odd\n5,2,0,1\n2,7,0,1\n5,7,2,2\n"
        with refused(offers=[("coding", "position")]):
            read(text)
        assert list(read(text, coding="position"))[::2] == [(2, 0, 5), (7, 0, 2), (5, 2, 7)]
        assert list(read("a,b,c,odd\n5,7,2,2\n", coding="object", n_objects=8)) == [(5, 7, 2), (7, 5, 2)]

    @pytest.mark.parametrize(
        ("text", "shown", "offered"),
        [
            ("a,b,c,odd\ncat,dog,car,cow\n", "'cow'", "invalid"),
            ("a,b,c,odd\ncat,dog,car,4\n", "4", "invalid"),
            ("a,b,c,odd\ncat,dog,car,0\n", "0", "codes"),
            ("a,b,odd\ncat,cat,car\n", "(cat, cat, car)", "invalid"),
            ("a,b,c,i,j,k,odd\nx,y,z,x,y,z,x\n", "a, b, c and i, j, k", "columns"),
            ("anchor,a,b,odd\nx,y,z,x\n", "'a'", "columns"),
            ("x,odd\ny,z\n", "'x', 'odd'", "columns"),
        ],
    )
    def test_refusals(self, read, text, shown, offered):
        with refused(shown, offers=[offered]):
            read(text)

    def test_bad_trials_are_dropped_and_counted_once(self, read):
        c = read("a,b,c,odd\ncat,dog,car,cow\ncat,dog,car,1\ncat,cat,dog,1\n", invalid="drop")
        assert named(c) == [("dog", "car", "cat"), ("car", "dog", "cat")]
        assert c.n_dropped == 2
        assert c.groups.tolist() == [1, 1]

    def test_signs_mean_nothing_here(self, read):
        with refused("'signs'", parameter="coding"):
            read("a,b,c,odd\ncat,dog,car,1\n", coding="signs")


class TestLabels:
    @pytest.mark.parametrize(
        "name", ["subject_id", "worker", "WorkerId", "Worker ID", "participant", "annotator"]
    )
    def test_annotators(self, read, name):
        c = read(f"anchor,near,far,{name}\na,b,c,ann\nb,c,a,bob\n")
        assert c.annotators.tolist() == ["ann", "bob"]

    @pytest.mark.parametrize("name", ["group", "screen_id", "trial", "trial_id"])
    def test_groups(self, read, name):
        assert read(f"anchor,near,far,{name}\na,b,c,4\nb,c,a,9\nc,b,a,4\n").groups.tolist() == [4, 9, 4]

    def test_trials_are_numbered_anew_for_everyone(self, read):
        rows = "a,b,c,1,ann\nb,c,a,1,bob\nc,a,b,1,ann\na,c,b,2,bob\n"
        assert read(f"anchor,near,far,trial,worker\n{rows}").groups.tolist() == [0, 1, 0, 2]
        assert read(f"anchor,near,far,group,worker\n{rows}").groups.tolist() == [1, 1, 1, 2]

    def test_ignored_columns(self, read):
        c = read("anchor,near,far,rt,date\na,b,c,300,monday\n")
        assert c.ignored_columns == ("rt", "date")
        assert repr(c) == "Comparisons(1 triplet, 3 objects, names, ignored columns: rt, date)"
        assert c[:1].ignored_columns == c.subset(["a", "b", "c"]).ignored_columns == ()
        assert c == Comparisons([("a", "b", "c")])
        assert read("anchor,near,far\na,b,c\n").ignored_columns == ()
