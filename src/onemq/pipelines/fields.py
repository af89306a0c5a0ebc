"""Parts of a message as columns: what `--by`, `--time` and aggregates name.

| text | part |
|---|---|
| `orderno`, `customer.id`, `$.lines[0].sku` | a field of the body, which is JSON; text, or null if it is not there |
| `@key`, `@tag`, `@id`, `@topic` | the message's own key, tag, id, topic |
| `@timestamp` | when it was stored |
| `@header:name` | the last header of that name, as text |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onemq.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import Column

OWN = ("@key", "@tag", "@id", "@topic", "@timestamp")
HEADER = "@header:"
YEARS_MS = (-62_135_596_800_000, 253_402_300_799_999)


def check_field(text: str) -> str:
    """The same text; `InvalidArgument` if it names no part of a message."""
    if text in OWN or (text.startswith(HEADER) and text != HEADER):
        return text
    if not text or text.startswith("@") or "'" in text:
        raise InvalidArgument(
            f"{text!r} names no part of a message: write a field of the body (orderno, customer.id), "
            f"{', '.join(OWN)} or {HEADER}name"
        )
    return text


def field(text: str) -> Column:
    """The part of a message that is named, as text."""
    from pyspark.sql import functions as F

    check_field(text)
    if text.startswith(HEADER):
        return header(text.removeprefix(HEADER))
    if text in OWN:
        return F.col(text[1:]).cast("string")
    path = text if text.startswith("$") else f"$.{text}"
    return F.get_json_object(F.col("value").cast("string"), path)


def identity(texts: Sequence[str]) -> Column:
    """A business key of one part or several; null if none of them is there."""
    from pyspark.sql import functions as F

    if len(texts) == 1:
        return field(texts[0])
    parts = [field(each) for each in texts]
    return F.when(F.coalesce(*parts).isNotNull(), F.to_json(F.array(*parts)))


def number(text: str) -> Column:
    """The part as a number; null if it is none."""
    return field(text).try_cast("double")


def time_ms(text: str) -> Column:
    """The part as milliseconds since 1970; null if it is no time of the years 1 to 9999.

    It may be ISO 8601 (without a zone: UTC), or a number: of seconds below 100 000 000 000 (the year 5138), else of
    milliseconds.
    """
    from pyspark.sql import functions as F

    if text == "@timestamp":
        return F.unix_millis("timestamp")
    found = _any_time_ms(text)
    return F.when(found.between(*YEARS_MS), found)


def _any_time_ms(text: str) -> Column:
    from pyspark.sql import functions as F

    value, moment = field(text), field(text).try_cast("timestamp")
    count = value.try_cast("double")
    from_number = F.when(F.abs(count) < 1e11, count * 1000).otherwise(count).try_cast("bigint")
    return F.when(count.isNotNull(), from_number).otherwise(F.unix_millis(moment))


def header(name: str) -> Column:
    """The last header of that name, as text; null if there is none."""
    from pyspark.sql import functions as F

    found = F.filter("headers", lambda each: each["key"] == name)
    return F.try_element_at(found, F.lit(-1))["value"].cast("string")


def name_of(text: str) -> str:
    """A column name for a part: `customer.id` becomes `customer_id`."""
    kept = "".join(each if each.isalnum() else "_" for each in text.removeprefix(HEADER).lstrip("@$."))
    return kept.strip("_") or "field"


def names_of(texts: list[str], taken: tuple[str, ...] = ()) -> list[str]:
    """A column name for each, all different, none of them taken."""
    names: list[str] = []
    for text in texts:
        name = name_of(text)
        while name in names or name in taken:
            name += "_"
        names.append(name)
    return names
