from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearer import losses, solvers
from nearer.errors import InputError
from nearer.saving.format import Decoder, Encoder


@dataclass(frozen=True)
class HomeMade(losses.STE):
    """A user's own loss."""


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=10,
)


class TestEncoding:
    def there_and_back(self, value):
        encoder = Encoder()
        text = json.dumps(encoder.encode(value, "value"), allow_nan=False)
        return Decoder(encoder.arrays.__getitem__).decode(json.loads(text))

    @pytest.mark.parametrize("loss", [*losses.LOSSES])
    def test_losses_return(self, loss):
        assert self.there_and_back(losses.find(loss)) == losses.find(loss)

    @pytest.mark.parametrize("solver", [*solvers.SOLVERS])
    def test_solvers_return(self, solver):
        assert self.there_and_back(solvers.find(solver)) == solvers.find(solver)

    @settings(max_examples=200, deadline=None)
    @given(plain_values)
    def test_plain_values_return(self, value):
        assert repr(self.there_and_back(value)) == repr(value)  # repr: nan, -0.0, and the types inside

    @pytest.mark.parametrize(
        "value",
        [
            np.float32(0.1),
            np.float64("nan"),
            np.int8(-3),
            np.bool_(True),
            np.uint64(2**63),
            np.float64("-inf"),
        ],
    )
    def test_numpy_scalars_keep_their_type(self, value):
        got = self.there_and_back(value)
        assert type(got) is type(value)
        np.testing.assert_equal(got, value)

    @pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "<U5", ">f8"])
    def test_arrays_keep_type_shape_and_order(self, dtype):
        value = np.asfortranarray(np.arange(6).reshape(2, 3).astype(dtype))
        got = self.there_and_back({"nested": [value]})["nested"][0]
        assert got.dtype == value.dtype
        np.testing.assert_array_equal(got, value)

    def test_numpy_strings_become_strings(self):
        assert self.there_and_back(np.str_("abc")) == "abc"

    def test_arrays_of_strings(self):
        got = self.there_and_back(np.array(["a", "bc"], dtype=object))
        assert got.dtype == object
        assert got.tolist() == ["a", "bc"]

    @pytest.mark.parametrize(
        ("value", "place", "remedy"),
        [
            ({1: "a"}, "loss has the key 1", "rename"),
            (np.array([object()]), "loss is an array", "use numbers"),
            ([{"a": print}], "loss[0]['a'] is of type builtins.builtin_function_or_method", "None"),
            (HomeMade, "loss is of type abc.ABCMeta", "None"),
            (HomeMade(), "HomeMade", "numpy.savez"),
            ({1, 2}, "loss is of type builtins.set", "numpy.savez"),
        ],
    )
    def test_refusals_name_the_place_and_a_remedy(self, value, place, remedy):
        with pytest.raises(InputError) as error:
            Encoder().encode(value, "loss")
        assert place in str(error.value)
        assert remedy in str(error.value)


def test_types_of_numbers_are_stored_by_name():
    assert Encoder().encode(np.float32, "dtype") == "float32"
    assert Encoder().encode(np.dtype("f8"), "dtype") == "float64"
