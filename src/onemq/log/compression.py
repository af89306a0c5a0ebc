"""The compressions that a batch's records can have: gzip, snappy, lz4 and zstd, as Kafka's clients write them.

OneMQ itself never compresses, and passes compressed batches on as they are: they are unpacked where somebody reads
single messages. A small batch may claim to unpack to a huge one, so nothing is unpacked beyond a limit.

    gzip    one member or several
    snappy  one raw block, or xerial's framing: `\\x82SNAPPY\\0`, version (4), compatible version (4), then blocks,
            each after its length (4, big-endian)
    lz4     the frame format, without content size mostly
    zstd    a frame, without content size mostly
"""

import zlib
from collections.abc import Callable

from cramjam import DecompressionError, lz4, snappy, zstd

from onemq.errors import Corrupt, TooLarge
from onemq.limits import MESSAGE_BYTES_CEILING

NAMES = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
"""By the number in a batch's attributes."""

_GZIP_WINDOW = 31
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16
_FIRST_GUESS_BYTES = 64 * 1024


def _broken() -> Corrupt:
    return Corrupt("the compressed records of a batch do not decompress")


def _too_large() -> TooLarge:
    return TooLarge(f"a batch may have {MESSAGE_BYTES_CEILING} bytes when it is decompressed")


def _gunzip(packed: bytes) -> bytes:
    parts: list[bytes] = []
    room = MESSAGE_BYTES_CEILING
    while packed or not parts:
        unpacking = zlib.decompressobj(_GZIP_WINDOW)
        try:
            part = unpacking.decompress(packed, room + 1)
        except zlib.error:
            raise _broken() from None
        room -= len(part)
        if room < 0:
            raise _too_large()
        if not unpacking.eof:
            raise _broken()
        parts.append(part)
        packed = unpacking.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _unsnap(packed: bytes) -> bytes:
    if not packed.startswith(_XERIAL):
        return _unsnap_block(packed, MESSAGE_BYTES_CEILING)
    blocks: list[bytes] = []
    room, position = MESSAGE_BYTES_CEILING, _XERIAL_HEADER_BYTES
    while position < len(packed):
        first = position + 4
        position = first + int.from_bytes(packed[position:first], "big")
        if position > len(packed):
            raise _broken()
        blocks.append(_unsnap_block(packed[first:position], room))
        room -= len(blocks[-1])
    return b"".join(blocks)


def _unsnap_block(block: bytes, room: int) -> bytes:
    try:
        if snappy.decompress_raw_len(block) > room:  # the block begins with it, and is held to it
            raise _too_large()
        return bytes(snappy.decompress_raw(block))
    except DecompressionError:
        raise _broken() from None


def _bounded(unpack_into: Callable[[bytes, bytearray], int]) -> Callable[[bytes], bytes]:
    """Unpacks into larger and larger buffers: the formats need not say how large the result is."""

    def unpack(packed: bytes) -> bytes:
        room = max(_FIRST_GUESS_BYTES, 4 * len(packed))
        while True:
            room = min(room, MESSAGE_BYTES_CEILING)
            buffer = bytearray(room)
            try:
                size = unpack_into(packed, buffer)
            except DecompressionError as problem:
                if "write whole buffer" not in str(problem):
                    raise _broken() from None
            else:
                return bytes(memoryview(buffer)[:size])
            if room == MESSAGE_BYTES_CEILING:
                raise _too_large()
            room *= 4

    return unpack


DECOMPRESSORS: dict[int, Callable[[bytes], bytes]] = {
    1: _gunzip,
    2: _unsnap,
    3: _bounded(lz4.decompress_into),
    4: _bounded(zstd.decompress_into),
}
"""Compression number in the attributes -> function. All raise `Corrupt`, and `TooLarge` beyond the limit."""
