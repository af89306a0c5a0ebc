"""Retry policies as the broker is told."""

from onemq.client.grouping import GroupSettings, start_words
from onemq.client.retry import Backoff, Immediate, Ladder, Retry


def test_policies_in_words() -> None:
    assert Ladder().words() == ("LADDER",)
    assert Backoff("1s", 2, "1m", 6).words() == ("BACKOFF", b"1000", "2", b"60000", 6)
    assert Backoff(0.5, 1.5, None, None).words() == ("BACKOFF", b"500", "1.5", "NONE", "NONE")
    assert Immediate().words() == ("NONE",)
    assert Immediate(3).words() == ("NONE", 3)


def test_a_handler_says_when() -> None:
    assert Retry(after="5m").after_ms == 300_000
    assert Retry().after_ms is None


def test_settings_of_a_group_in_words() -> None:
    settings = GroupSettings(filter="A || B", order="key", once_by="orderno", once_window="1d", retry=Ladder())
    assert settings.words() == [
        "RETRY", "LADDER", "FILTER", "A || B", "ORDER", "KEY", "ONCE", "HEADER", "orderno", "WITHIN", b"86400000",
    ]  # fmt: skip
    assert GroupSettings(once_by="key").words() == ["ONCE", "KEY"]
    assert GroupSettings().words() == []


def test_where_to_begin_in_words() -> None:
    assert start_words("first") == ["FIRST"]
    assert start_words(7) == ["OFFSET", 7]
    assert start_words("2026-01-01") == ["TIME", b"2026-01-01"]
    assert start_words(1.5) == ["TIME", b"1500"]
