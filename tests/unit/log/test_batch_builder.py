"""Making batches: gaps, and messages that differ in their bodies only."""

from onemq.log.batch import read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, decode, decode_at, encode_headers


def test_offsets_may_be_missing_in_a_batch_and_at_its_end() -> None:
    builder = BatchBuilder(100, 1000)
    for offset in (102, 105, 90_000):
        builder.skip_to(offset)
        builder.add(1000, None, b"%d" % offset, NO_HEADERS)
    batch = builder.seal(last_delta=99_999)
    header = read_header(batch)
    assert (header.base_offset, header.next_offset, header.record_count) == (100, 100_100, 3)
    assert [record[0] for record in decode(batch, 0, header)] == [102, 105, 90_000]
    assert decode_at(batch, 0, header, 105) == (105, 1000, None, b"105", ())
    assert decode_at(batch, 0, header, 103) is None


def test_messages_that_are_alike_are_added_at_once_as_one_by_one() -> None:
    bodies, headers = [b"a", b"", b"c" * 300], encode_headers([(b"name", b"value")])
    one_by_one, at_once = BatchBuilder(100, 1000), BatchBuilder(100, 1000)
    for body in bodies:
        one_by_one.add(2000, None, body, headers)
    assert at_once.add_alike(2000, bodies, headers) == 100
    assert at_once.next_offset == one_by_one.next_offset == 103
    assert at_once.seal() == one_by_one.seal()


def test_a_batch_tells_its_producer_and_a_time_that_is_not_in_it() -> None:
    builder = BatchBuilder(0, 1000)
    builder.add(1000, b"k", b"v", NO_HEADERS)
    header = read_header(builder.seal(producer=(7, 1, 40), latest_ms=3000))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 40)
    assert (header.base_timestamp_ms, header.max_timestamp_ms) == (1000, 3000)
