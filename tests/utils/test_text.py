"""Numbers as a person says them."""

from nearer._utils.text import counted, readable_seconds


def test_one_has_no_plural():
    assert counted(1, "answer") == "1 answer"
    assert counted(0, "answer") == "0 answers"
    assert counted(1000, "row") == "1,000 rows"


def test_readable_seconds_round_without_jumps():
    assert readable_seconds(0.9996) == "1.0 s"
    assert readable_seconds(59.96) == "1 min 00 s"
    assert readable_seconds(3599.6) == "1 h 00 min"
    assert readable_seconds(0) == "0 ms"
