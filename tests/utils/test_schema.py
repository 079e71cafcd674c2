from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from importlib import import_module

import numpy as np
import pytest

from nearer._utils.schema import (
    AnyOf,
    Array,
    Fields,
    Flag,
    Integer,
    Items,
    Literal,
    MayLack,
    Names,
    Number,
    Part,
    Parts,
    Plain,
    Record,
    Row,
    SchemaError,
    Settings,
    Size,
    Strings,
    Text,
    need,
    optional,
)
from nearer.registry import BY_NAME, PARTS, estimator_class


def read(spec, value, sizes=None):
    return spec.read(value, "it", {} if sizes is None else sizes)


class TestValues:
    @pytest.mark.parametrize(
        ("spec", "value"),
        [
            (Literal("a", None), None),
            (Flag(), np.bool_(True)),
            (Text(), "word"),
            (Number(), 3),
            (Number(finite=False), float("nan")),
            (Number(above=0), np.float32(0.5)),
            (Integer(0, 2**256), 2**200),
            (Integer(), np.int64(5)),
            (optional(Number()), None),
            (Plain(), {"a": [1, (2.0, "x")], "b": None}),
            (Items(Integer(), kind=list), [1, 2]),
            (Row(Flag(), Number()), (True, 1.5)),
            (Names("n"), ("cat", "dog")),
        ],
    )
    def test_what_fits_stays(self, spec, value):
        got = read(spec, value)
        assert repr(got) == repr(value)

    @pytest.mark.parametrize(
        ("spec", "value"),
        [
            (Literal(1), True),
            (Literal("a"), "b"),
            (Flag(), 1),
            (Text(), "x" * 5000),
            (Number(), True),
            (Number(), "1"),
            (Number(), float("inf")),
            (Number(), 10**400),
            (Number(above=0), 0.0),
            (Number(at_most=1), 1.5),
            (Integer(), 1.0),
            (Integer(), -1),
            (Integer(), 2**60),
            (optional(Number()), "x"),
            (Plain(), np.zeros(2)),
            (Plain(), {"a": 10**30}),
            (Items(Integer(), kind=list), (1, 2)),
            (Row(Flag(), Number()), (True,)),
            (Names("n"), ("cat", "cat")),
            (Names("n"), ("cat", 1)),
            (Names("n"), ("cat", "\ud800")),
            (Record({"a": Number()}), {}),
            (Record({"a": Number()}), {"a": 1, "b": 2}),
            (Strings("n"), np.array([1, 2], dtype=object)),
        ],
    )
    def test_what_does_not_fit_is_refused_by_name(self, spec, value):
        with pytest.raises(ValueError, match=r"it|name"):
            read(spec, value)

    def test_entries_may_be_absent_or_of_a_common_kind(self):
        spec = Record({"a": MayLack(Number())}, others=Flag())
        assert read(spec, {"b": True}) == {"b": True}
        with pytest.raises(SchemaError, match=r"it\['b'\]"):
            read(spec, {"b": 1})


class TestArrays:
    def test_sizes_agree_within_a_schema(self):
        sizes: dict[str, int] = {}
        read(Array("n", "p"), np.zeros((4, 2)), sizes)
        read(Size("n"), 4, sizes)
        for spec, value in (
            (Array("n"), np.zeros(3)),
            (Array("p", "p"), np.zeros((2, 3))),
            (Size("n"), 5),
            (Names("n"), ("a", "b")),
            (Strings("p"), np.array(["a"])),
        ):
            with pytest.raises(SchemaError, match="size"):
                read(spec, value, sizes)

    @pytest.mark.parametrize(
        ("spec", "value"),
        [
            (Array("n"), np.zeros((2, 2))),
            (Array("n"), np.array(1.0)),
            (Array("n"), np.zeros(2, dtype=complex)),
            (Array("n"), np.zeros(2, dtype="float16")),
            (Array("n"), np.zeros(2, dtype="longdouble")),
            (Array("n"), np.array(["a"])),
            (Array("n"), np.array([object()])),
            (Array("n"), np.zeros(2, dtype=[("a", "f8")])),
            (Array("n"), [0.0, 1.0]),
            (Array("n"), np.array([1.0, np.nan])),
            (Array("n"), np.array([1.0, -np.inf])),
            (Array("n"), np.array([1e200])),
            (Array("n", filled=True), np.zeros(0)),
            (Array(3), np.zeros(2)),
            (Array("n", above=0), np.array([1.0, 0.0])),
            (Array("n", ascending=True), np.array([1.0, 0.0])),
            (Array("n", kinds="i", below="m"), np.array([-1])),
            (Array("n", kinds="i", below="m"), np.array([7])),
        ],
    )
    def test_refuses(self, spec, value):
        with pytest.raises(SchemaError, match="it "):
            read(spec, value, {"m": 7})

    def test_non_finite_numbers_where_they_may_be(self):
        read(Array("n", finite=False), np.array([np.nan, np.inf, 1e300]))

    def test_other_orders_and_byte_orders_are_converted(self):
        value = np.asfortranarray(np.arange(6).reshape(2, 3).astype(">f4"))
        got = read(Array("n", "p", dtype="float64", order="C"), value)
        assert got.dtype == np.float64
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, value)
        assert read(Array("n", "p"), value).dtype.isnative

    def test_read_only_arrays_become_writable(self):
        value = np.zeros(3)
        value.flags.writeable = False
        assert read(Array("n"), value).flags.writeable

    def test_alternatives_are_told_apart_by_their_dimensions(self):
        spec, sizes = AnyOf(Array("m"), Array("f", "c")), {"m": 2}
        assert read(spec, np.zeros((5, 3)), sizes).shape == (5, 3)
        with pytest.raises(SchemaError, match="size 5 where 2"):
            read(spec, np.zeros(5), sizes)


@dataclass
class Inner:
    values: np.ndarray
    extra: int = 0
    _schema = Fields(values=Array("n", "own"), extra=Integer())

    def _check_loaded(self):
        need(self.extra < 10, "extra is ten or more")


class TestParts:
    def test_shared_sizes_are_those_of_the_whole_and_others_are_not(self):
        spec, sizes = Part(Inner, shares=("n",)), {}
        read(spec, Parts(Inner, {"values": np.zeros((3, 1))}), sizes)
        read(spec, Parts(Inner, {"values": np.zeros((3, 2))}), sizes)
        assert sizes == {"n": 3}
        with pytest.raises(SchemaError, match=r"it\.values"):
            read(spec, Parts(Inner, {"values": np.zeros((4, 2))}), sizes)

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            (Parts(Inner, {}), r"it\.values is missing"),
            (Parts(Inner, {"values": np.zeros((1, 1)), "more": 1}), r"it\.more is unknown"),
            (Parts(Inner, {"values": np.zeros((1, 1)), "extra": 10}), "it: extra is ten or more"),
            (Parts(dict, {}), "it is a dict"),
        ],
    )
    def test_refuses(self, parts, message):
        with pytest.raises(SchemaError, match=message):
            read(Part(Inner), parts)


class TestEveryClass:
    @pytest.mark.parametrize("name", [*BY_NAME])
    def test_every_parameter_is_declared(self, name):
        kind = estimator_class(name)
        if hasattr(kind, "_to_save"):
            return
        assert kind._schema.params.keys() == kind().get_params().keys()

    def test_every_dataclass_that_a_file_may_name_declares_every_field(self):
        found = 0
        for module in map(import_module, PARTS.values()):
            for name in module.__all__:
                schema = getattr(getattr(module, name), "_schema", None)
                if isinstance(schema, Fields) and not isinstance(schema, Settings):
                    declared = {one.name for one in fields(getattr(module, name)) if one.init}
                    assert schema.specs.keys() == declared, name
                    found += 1
        assert found > 10

    def test_no_dataclass_of_a_model_lacks_a_schema(self):
        """Those without are results and progress, which no estimator declares as a part."""
        for alias in ("kernels", "pairwise", "losses"):
            module = import_module(PARTS[alias])
            for name in module.__all__:
                kind = getattr(module, name)
                if isinstance(kind, type):
                    assert hasattr(kind, "_schema"), name


def test_checking_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(Array("n"), np.array([1.0, 2.0], dtype=np.float32))
        with pytest.raises(SchemaError):
            read(Array("n"), np.array([np.inf, np.nan], dtype=np.float32))
