import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onemq.client.lane import Lane
from onemq.client.route import Route
from onemq.errors import InvalidArgument
from pyspark_onemq.placing import RUN_BYTES, Turn, place

KEYS = st.lists(st.binary(max_size=20), min_size=1, max_size=50)


def sizes(*numbers):
    return np.array(numbers, np.int64)


@given(KEYS, st.integers(1, 40))
def test_a_key_goes_where_the_sdk_sends_it(keys, partitions):
    route = Route("t", 1, 1000, [Lane("t", 1, number, None) for number in range(partitions)])
    column = pa.array(keys, pa.binary())
    placed = place("t", partitions, None, column, np.ones(len(keys), np.int64), Turn(0))
    assert placed.tolist() == [route.choose(key) for key in keys]


def test_what_a_row_asks_for_goes_before_its_key_and_rows_with_neither_go_in_turn():
    key = pa.array([b"a", b"a", None, None], pa.binary())
    asked = pa.array([3, None, 2, None], pa.int32())
    by_key = int(place("t", 4, None, pa.array([b"a"]), sizes(1), Turn(0))[0])
    assert place("t", 4, asked, key, sizes(1, 1, 1, 1), Turn(1)).tolist() == [3, by_key, 2, 1]


@pytest.mark.parametrize("number", [4, -1])
def test_a_partition_that_is_not_there_is_refused(number):
    with pytest.raises(InvalidArgument, match=f"topic 't' has partitions 0 to 3, not {number}"):
        place("t", 4, pa.array([0, number]), None, sizes(1, 1), Turn(0))
    with pytest.raises(InvalidArgument, match=f"topic 't' has partitions 0 to 0, not {number}"):
        place("t", 1, pa.array([0, number]), None, sizes(1, 1), Turn(0))


def test_rows_without_a_key_go_on_to_the_next_partition_when_one_has_got_enough():
    turn = Turn(2)
    half = RUN_BYTES // 2
    assert place("t", 3, None, None, sizes(half, half, half), turn).tolist() == [2, 2, 0]
    assert place("t", 3, None, None, sizes(half, 1), turn).tolist() == [0, 1]
    assert place("t", 3, None, None, sizes(), turn).tolist() == []
    assert place("t", 3, None, None, sizes(3 * RUN_BYTES, 1), turn).tolist() == [1, 1]
