"""Scans of large collections."""

from onemq.protocols.resp.scans import LISTS_MAX, WHOLE_MAX, Scans

MANY = [b"%d" % number for number in range(WHOLE_MAX + 100)]


def pages(scans: Scans, key: bytes, count: int) -> list[list[bytes]]:
    found = []
    cursor = 0
    while True:
        cursor, page = scans.page(key, cursor, count, len(MANY), lambda: list(MANY))
        found.append(page)
        if not cursor:
            return found


def test_a_small_collection_comes_whole() -> None:
    small = MANY[:WHOLE_MAX]
    assert Scans().page(b"k", 0, 1, len(small), lambda: small) == (0, small)


def test_a_large_collection_comes_in_pages() -> None:
    found = pages(Scans(), b"k", 100)
    assert {len(page) for page in found[:-1]} == {100}
    assert [member for page in found for member in page] == MANY


def test_the_same_cursor_brings_the_same_page() -> None:
    scans = Scans()
    cursor, _ = scans.page(b"k", 0, 10, len(MANY), lambda: list(MANY))
    assert scans.page(b"k", cursor, 10, len(MANY), lambda: []) == scans.page(b"k", cursor, 10, len(MANY), lambda: [])


def test_a_scan_that_is_over_takes_no_memory() -> None:
    """Its list may be long, and its members be gone since."""
    scans = Scans()
    assert len(pages(scans, b"k", 100)) == len(pages(scans, b"k", 100)) > 1
    cursor, _ = scans.page(b"k", 0, len(MANY), len(MANY), lambda: list(MANY))
    assert cursor == 0
    assert scans._lists == {}


def test_a_cursor_of_another_key_or_of_nobody_brings_everything() -> None:
    scans = Scans()
    cursor, _ = scans.page(b"k", 0, 10, len(MANY), lambda: list(MANY))
    assert scans.page(b"other", cursor, 10, 2, lambda: [b"a", b"b"]) == (0, [b"a", b"b"])
    assert scans.page(b"k", 17, 10, 2, lambda: [b"a", b"b"]) == (0, [b"a", b"b"])


def test_only_so_many_scans_are_remembered() -> None:
    scans = Scans()
    first, _ = scans.page(b"k", 0, 10, len(MANY), lambda: list(MANY))
    kept, _ = scans.page(b"k", 0, 10, len(MANY), lambda: list(MANY))
    for _ in range(LISTS_MAX - 1):
        scans.page(b"k", kept, 10, len(MANY), lambda: [])  # whoever goes on is remembered
        scans.page(b"k", 0, 10, len(MANY), lambda: list(MANY))
    assert scans.page(b"k", first, 10, 1, lambda: [b"all"]) == (0, [b"all"])
    assert scans.page(b"k", kept, 10, 1, lambda: [b"all"])[1] == MANY[10:20]
