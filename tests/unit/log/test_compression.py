"""The four compressions, as each of Kafka's clients may write them."""

import gzip
import zlib
from collections.abc import Callable

import cramjam
import pytest

from onemq.errors import Corrupt, TooLarge
from onemq.limits import MESSAGE_BYTES_CEILING
from onemq.log.compression import DECOMPRESSORS, NAMES

TEXTS = [b"", b"x", b"one two three " * 100, bytes(range(256)) * 4096]


def xerial(data: bytes, block_bytes: int = 32 * 1024) -> bytes:
    """Snappy as the Java client writes it."""
    blocks = [data[first : first + block_bytes] for first in range(0, len(data), block_bytes)]
    packed = [bytes(cramjam.snappy.compress_raw(block)) for block in blocks]
    framed = b"".join(len(block).to_bytes(4, "big") + block for block in packed)
    return b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2 + framed


PACKERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (1, gzip.compress),
    "gzip in two members": (1, lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:])),
    "snappy": (2, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "snappy, xerial": (2, xerial),
    "snappy, xerial in small blocks": (2, lambda data: xerial(data, 1000)),
    "lz4": (3, lambda data: bytes(cramjam.lz4.compress(data))),
    "zstd": (4, lambda data: bytes(cramjam.zstd.compress(data))),
}
by_packer = pytest.mark.parametrize(("number", "pack"), PACKERS.values(), ids=PACKERS)


@by_packer
@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_what_was_packed_is_unpacked(number: int, pack: Callable[[bytes], bytes], text: bytes) -> None:
    assert DECOMPRESSORS[number](pack(text)) == text


@by_packer
def test_what_is_cut_or_flipped_is_corrupt(number: int, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"one two three " * 100)
    for broken in (packed[:-3], packed[: len(packed) // 2], b"nothing at all", b"\xff" * 40):
        with pytest.raises(Corrupt):
            DECOMPRESSORS[number](broken)


@pytest.mark.parametrize("number", [1, 2, 3, 4], ids=NAMES.get)
def test_nothing_is_unpacked_beyond_the_limit(number: int) -> None:
    """A few kilobytes that claim to be more than a batch may be."""
    size = MESSAGE_BYTES_CEILING + 1
    pack = {
        1: lambda data: gzip.compress(data, 9),
        2: lambda data: bytes(cramjam.snappy.compress_raw(data)),
        3: lambda data: bytes(cramjam.lz4.compress(data)),
        4: lambda data: bytes(cramjam.zstd.compress(data)),
    }[number]
    with pytest.raises(TooLarge, match="when it is decompressed"):
        DECOMPRESSORS[number](pack(bytes(size)))


def test_many_small_members_and_blocks_together_are_held_to_the_limit() -> None:
    mebibyte = bytes(1 << 20)
    count = (MESSAGE_BYTES_CEILING >> 20) + 1
    with pytest.raises(TooLarge):
        DECOMPRESSORS[1](gzip.compress(mebibyte) * count)
    with pytest.raises(TooLarge):
        DECOMPRESSORS[2](xerial(mebibyte * count, 1 << 20))


def test_zlib_without_the_frame_of_gzip_is_corrupt() -> None:
    with pytest.raises(Corrupt):
        DECOMPRESSORS[1](zlib.compress(b"hello"))
