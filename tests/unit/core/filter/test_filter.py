"""Filters: what they mean, as a table; what is refused; what stays quick whatever the input."""

import pytest

from onemq.core.filter import compile_filter
from onemq.errors import InvalidArgument
from onemq.limits import FILTER_CHARACTERS_MAX, FILTER_DEPTH_MAX
from onemq.message import Headers, Record, message_id

HEADERS: Headers = (
    (b"_tag", b"paid"), (b"_pri", b"7"), (b"_exp", b"5000"), (b"_corr", b"c-1"), (b"country", b"DE"),
    (b"amount", b"250"), (b"rate", b"1.50"), (b"minus", b"-3"), (b"big", b"99999999999999999999"), (b"flag", b"true"),
    (b"off", b"FALSE"), (b"word", b"a_b%c"), (b"empty", b""), (b"twice", b"first"), (b"twice", b"second"),
    (b"nothing", None), (b"umlaut", "äöü".encode()), (b"with space", b"x"), (b"same_amount", b"250.0"),
    (b"tag", b"a header"), (b'quo"te', b"q"), (b"a.b", b"dotted"), (b"$d", b"dollar"),
)  # fmt: skip
RECORD: Record = (42, 1000, b"k1", b"body", HEADERS)
BARE: Record = (0, 1000, None, None, ())

TRUE, FALSE, UNKNOWN = True, False, None
TABLE = [
    # text
    ("country = 'DE'", TRUE), ("country = 'FR'", FALSE), ("country <> 'FR'", TRUE), ("country <> 'DE'", FALSE),
    ("'DE' = country", TRUE), ("missing = 'DE'", UNKNOWN), ("missing <> 'DE'", UNKNOWN), ("nothing = 'x'", UNKNOWN),
    ("empty = ''", TRUE), ("twice = 'first'", TRUE), ("umlaut = 'äöü'", TRUE), ("'a' = 'a'", TRUE),
    ("'it''s' = 'it''s'", TRUE), ("Country = 'DE'", UNKNOWN),
    # numbers
    ("amount = 250", TRUE), ("amount = 250.0", TRUE), ("amount <> 250", FALSE), ("amount > 100", TRUE),
    ("amount >= 250", TRUE), ("amount < 250", FALSE), ("amount <= 250", TRUE), ("100 < amount", TRUE),
    ("missing > 1", UNKNOWN), ("missing = 1", UNKNOWN), ("minus = -3", TRUE), ("minus < 0", TRUE),
    ("minus = +-+3", TRUE),
    ("rate = 1.5", TRUE), ("rate > 1", TRUE), ("rate = 15E-1", TRUE), ("rate = .15e1", TRUE), ("amount = 250L", TRUE),
    ("rate = 1.5d", TRUE), ("amount = 250.", TRUE), ("big > 1", TRUE), ("big = 1e20", TRUE),
    ("9223372036854775807 > 0", TRUE),
    ("99999999999999999999999999999999 > 1e30", TRUE),
    # a header that does not read as a number is of another type: FALSE, not UNKNOWN
    ("country > 1", FALSE), ("country = 1", FALSE), ("country <> 1", FALSE), ("empty = 0", FALSE),
    ("NOT country > 1", TRUE),
    ("amount = '250'", TRUE), ("amount = '250.0'", FALSE), ("'1' = 1", FALSE), ("'1' <> 1", FALSE), ("TRUE = 1", FALSE),
    ("'a' = TRUE", FALSE), ("priority = '7'", FALSE), ("stored = TRUE", FALSE),
    # truth values
    ("flag = TRUE", TRUE), ("flag = true", TRUE), ("flag = FALSE", FALSE), ("flag <> FALSE", TRUE),
    ("off = FALSE", TRUE),
    ("country = TRUE", FALSE), ("country <> TRUE", FALSE), ("missing = TRUE", UNKNOWN), ("TRUE", TRUE),
    ("FALSE", FALSE),
    ("TRUE = TRUE", TRUE), ("TRUE <> TRUE", FALSE), ("(flag)", TRUE), ("NOT flag", FALSE), ("NOT off", TRUE),
    ("NOT country", TRUE), ("NOT missing", UNKNOWN), ("(missing)", UNKNOWN), ("flag AND country = 'DE'", TRUE),
    # header against header
    ("amount = same_amount", TRUE), ("amount <> same_amount", FALSE), ("amount > rate", TRUE), ("rate > amount", FALSE),
    ("country = word", FALSE), ("country <> word", TRUE), ("country = country", TRUE), ("country < word", FALSE),
    ("country < amount", FALSE), ("country = missing", UNKNOWN), ("missing <> missing", UNKNOWN),
    ("missing < rate", UNKNOWN),
    # BETWEEN
    ("amount BETWEEN 250 AND 251", TRUE), ("amount BETWEEN 251 AND 300", FALSE),
    ("amount NOT BETWEEN 251 AND 300", TRUE),
    ("missing BETWEEN 1 AND 2", UNKNOWN), ("missing NOT BETWEEN 1 AND 2", UNKNOWN), ("5 BETWEEN missing AND 4", FALSE),
    ("5 BETWEEN missing AND 6", UNKNOWN), ("5 NOT BETWEEN missing AND 4", TRUE),
    ("amount BETWEEN minus AND stored", TRUE),
    ("country BETWEEN 1 AND 2", FALSE), ("amount BETWEEN 2*100 AND 3*100 AND flag", TRUE),
    # IN
    ("country IN ('DE', 'FR')", TRUE), ("country IN ('FR')", FALSE), ("country NOT IN ('FR')", TRUE),
    ("country NOT IN ('DE', 'FR')", FALSE), ("missing IN ('DE')", UNKNOWN), ("missing NOT IN ('DE')", UNKNOWN),
    ("amount IN (1, 250)", TRUE), ("same_amount IN (250)", TRUE), ("amount IN ('x', 250)", TRUE),
    ("country IN (1)", FALSE),
    ("priority IN (7, 8)", TRUE), ("priority IN ('7')", FALSE), ("priority NOT IN (1)", TRUE),
    # LIKE
    ("country LIKE 'D%'", TRUE), ("country LIKE '%E'", TRUE), ("country LIKE 'DE'", TRUE), ("country LIKE 'D'", FALSE),
    ("country LIKE '_E'", TRUE), ("country LIKE '_'", FALSE), ("country LIKE '%'", TRUE), ("country LIKE ''", FALSE),
    ("empty LIKE ''", TRUE), ("empty LIKE '%%'", TRUE), ("country LIKE 'd%'", FALSE), ("country NOT LIKE 'F%'", TRUE),
    ("missing LIKE '%'", UNKNOWN), ("missing NOT LIKE '%'", UNKNOWN), ("umlaut LIKE '___'", TRUE),
    ("umlaut LIKE 'ä%ü'", TRUE),
    ("word LIKE 'a\\_b\\%c' ESCAPE '\\'", TRUE), ("word LIKE '%!%%' ESCAPE '!'", TRUE),
    ("country LIKE '%!%%' ESCAPE '!'", FALSE),
    ("word LIKE '%b%c%'", TRUE), ("word LIKE '%c%b%'", FALSE), ("country LIKE 'DE%E'", FALSE),
    ("country LIKE 'D.'", FALSE),
    ("twice LIKE 'f%i%_st'", TRUE), ("amount LIKE '2%'", TRUE),
    # NULL
    ("missing IS NULL", TRUE), ("nothing IS NULL", TRUE), ("country IS NULL", FALSE), ("country IS NOT NULL", TRUE),
    ("missing IS NOT NULL", FALSE), ("empty IS NULL", FALSE), ("stored IS NULL", FALSE), ("born IS NULL", TRUE),
    # arithmetic
    ("amount + 1 = 251", TRUE), ("amount - 1 * 2 = 248", TRUE), ("(amount - 1) * 2 = 498", TRUE), ("7 / 2 = 3", TRUE),
    ("-7 / 2 = -3", TRUE), ("7.0 / 2 = 3.5", TRUE), ("amount / 0 = 1", UNKNOWN), ("amount / 0.0 = 1", UNKNOWN),
    ("missing + 1 = 1", UNKNOWN), ("country + 1 = 1", UNKNOWN), ("-amount = -250", TRUE), ("-country = 1", UNKNOWN),
    ("10 - 3 - 2 = 5", TRUE), ("100 / 10 / 2 = 5", TRUE), ("2 + 3 * 4 = 14", TRUE), ("amount * rate = 375", TRUE),
    ("9223372036854775807 * 9223372036854775807 > 1e37", TRUE), ("amount*2>country", FALSE),
    ("-9223372036854775807 < 0", TRUE),
    # logic
    ("missing = 1 OR amount = 250", TRUE), ("missing = 1 OR amount = 1", UNKNOWN),
    ("missing = 1 AND amount = 1", FALSE),
    ("missing = 1 AND amount = 250", UNKNOWN), ("NOT missing = 1", UNKNOWN), ("NOT (missing = 1 AND amount = 1)", TRUE),
    ("NOT NOT flag", TRUE), ("FALSE OR FALSE AND FALSE OR TRUE", TRUE), ("TRUE OR FALSE AND FALSE", TRUE),
    ("(TRUE OR FALSE) AND FALSE", FALSE), ("NOT FALSE AND FALSE", FALSE),
    ("not flag or country like 'D%' and amount in (250)", TRUE),
    # fields
    ("tag = 'paid'", TRUE), ("TAGS = 'paid'", TRUE), ("JMSType = 'paid'", TRUE), ("\"tag\" = 'a header'", TRUE),
    ("key = 'k1'", TRUE), ("KEYS = 'k1'", TRUE), ("priority = 7", TRUE), ("JMSPriority > 6", TRUE),
    ("stored = 1000", TRUE),
    ("expires > stored", TRUE), ("expires - stored = 4000", TRUE), ("JMSTimestamp = 1000", TRUE), ("born = 1", UNKNOWN),
    ("JMSCorrelationID = 'c-1'", TRUE), ("correlation = 'c-1'", TRUE), ("reply_to IS NULL", TRUE),
    ("\"with space\" = 'x'", TRUE), ("\"quo\"\"te\" = 'q'", TRUE), ("a.b = 'dotted'", TRUE), ("$d = 'dollar'", TRUE),
    ("_tag = 'paid'", TRUE), ("INDIA IS NULL", TRUE), ("order_by IS NULL AND android IS NULL", TRUE),
    # many names at once
    ("a1=1 OR a2=1 OR a3=1 OR a4=1 OR a5=1 OR a6=1 OR twice='first'", TRUE),
    # tags
    ("paid", TRUE), ("created", FALSE), ("created || paid", TRUE), ("created||paid", TRUE), ("created || other", FALSE),
    ("*", TRUE), (" paid ", TRUE), ("order-created || order.paid", FALSE),
]  # fmt: skip


@pytest.mark.parametrize(("text", "truth"), TABLE, ids=[text for text, _ in TABLE])
def test_a_filter_lets_a_message_pass_when_its_condition_is_true(text: str, truth: bool | None) -> None:
    found = compile_filter(text)
    assert bool(found.matches(RECORD)) is (truth is True)
    assert found.select([RECORD, RECORD]) == ([RECORD, RECORD] if truth is True else [])


@pytest.mark.parametrize(
    ("text", "truth"), [row for row in TABLE if row[0] not in ("paid", "created", "*", " paid ") and "||" not in row[0]]
)
def test_not_turns_true_and_false_round_and_leaves_unknown(text: str, truth: bool | None) -> None:
    assert bool(compile_filter(f"NOT ({text})").matches(RECORD)) is (truth is False)


def test_a_message_without_headers_has_only_its_times_and_its_default_priority() -> None:
    assert compile_filter("priority = 4 AND JMSPriority = 4 AND stored = 1000 AND JMSTimestamp = 1000").matches(BARE)
    assert compile_filter("tag IS NULL AND key IS NULL AND expires IS NULL AND born IS NULL").matches(BARE)
    assert not compile_filter("paid").matches(BARE)
    assert compile_filter("*").matches(BARE)


def test_the_time_of_birth_is_the_jms_timestamp_where_a_message_has_one() -> None:
    born: Record = (0, 1000, None, b"", ((b"_born", b"900"),))
    assert compile_filter("JMSTimestamp = 900 AND born = 900").matches(born)


def test_an_id_is_that_of_the_header_or_of_the_place() -> None:
    moved: Record = (7, 1000, None, b"", ((b"_id", b"9-0-1"),))
    here = compile_filter(f"id = '{message_id(3, 1, 42)}'")
    assert here.uses_id
    assert here.at(3, 1).matches(RECORD)
    assert not here.at(3, 2).matches(RECORD)
    assert compile_filter("JMSMessageID = '9-0-1'").at(3, 1).matches(moved)
    assert compile_filter("id IS NULL").matches(RECORD)
    assert not compile_filter("key = 'k1'").uses_id


def test_a_text_is_compiled_once() -> None:
    assert compile_filter("country = 'once'") is compile_filter("country = 'once'")


REFUSED = [
    ("", "empty"), ("   ", "empty"), ("a =", "ends after character 3"), ("a = 1 )", "')' at character 7"),
    ("a > 'x'", "character 5 is no number"), ("TRUE < a", "character 1 is no number"), ("a # b", "'#' at character 3"),
    ("a b", "'b' at character 3"), ("1 + 1", "character 1 is a value"), ("'x'", "is a value"),
    ("a = 'x", "character 5 does not end"), ('"" = 1', "character 1 does not end"),
    ("(a = 1) = TRUE", "is a condition"),
    ("a + 'x' = 1", "character 5 is no number"), ("a + TRUE = 1", "is no number"), ("-'x' = 1", "is no number"),
    ("a LIKE 5", "expected text"), ("a LIKE 'x' ESCAPE 'yy'", "one character"), ("a LIKE 'x!' ESCAPE '!'", "ESCAPE"),
    ("a LIKE 'x!y' ESCAPE '!'", "ESCAPE"), ("priority LIKE '1%'", "is a number"), ("1 IS NULL", "is no name"),
    ("'x' IN ('x')", "is no name"), ("a + 1 IN (2)", "is no name"), ("a IN (TRUE)", "neither text nor"),
    ("a IN ()", "')'"),
    ("a IN (b)", "'b'"), ("a BETWEEN 1", "ends"), ("a BETWEEN 'x' AND 'y'", "is no number"),
    ("5x = 1", "'5' at character 1"),
    ("JMSDeliveryMode = 'PERSISTENT'", "JMSDeliveryMode"), ("deliveries > 3", "deliveries"), ("a == 1", "'='"),
    ("a = 1; DROP TABLE x", "';'"), ("a || *", "'|'"), ("stored AND TRUE", "is a value"), ("a = NULL", "NULL"),
    ("a IS 'x'", "expected NOT or NULL"), ("AND a = 1", "AND"), ("a = 1 OR", "ends"), ("__import__('os')", "'('"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_what_is_no_filter_is_refused_with_the_place(text: str, told: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        compile_filter(text)
    assert told in refused.value.text


def test_names_and_texts_of_a_filter_never_become_code() -> None:
    hostile = "'); import os; ('"
    found = compile_filter(f"\"{hostile}\" = '{hostile.replace(chr(39), chr(39) * 2)}'")
    assert found.matches((0, 0, None, None, ((hostile.encode(), hostile.encode()),)))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000, "(" * 500 + "a = 1" + ")" * 500, "NOT " * 800 + "TRUE", "-" * 2000 + "1 = 1",
        "a = 1 AND " * 300 + "(",        "+".join(["1"] * 1500) + " = 1",
        "((a=1) AND " * 200 + "TRUE" + ")" * 200,
    ],
)  # fmt: skip
def test_what_is_nested_too_deep_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        compile_filter(text)


@pytest.mark.parametrize("piece", ["({} OR x = 1)", "NOT {}", "(x = 1 AND ({}))", "(NOT ({}) OR x = 2)"])
def test_what_is_as_deep_as_allowed_compiles(piece: str) -> None:
    text, deepest = "y = 1", ""
    for _ in range(FILTER_DEPTH_MAX):
        try:
            compile_filter(text)
        except InvalidArgument:
            break
        deepest, text = text, piece.format(text)
    assert deepest.count("(") + deepest.count("NOT") >= FILTER_DEPTH_MAX // 4
    compile_filter(deepest).matches(RECORD)


def test_sums_as_long_as_allowed_compile() -> None:
    assert compile_filter("+".join(["1"] * (FILTER_DEPTH_MAX - 2)) + f" = {FILTER_DEPTH_MAX - 2}").matches(RECORD)


def test_long_chains_are_not_deep() -> None:
    chain = " OR ".join(f"x{number} = {number}" for number in range(200))
    assert compile_filter(f"{chain} OR amount = 250").matches(RECORD)
    values = ", ".join(f"'{number}'" for number in range(500))
    assert compile_filter(f"amount IN ({values})").matches(RECORD)


def test_what_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=str(FILTER_CHARACTERS_MAX)):
        compile_filter("a = '" + "x" * FILTER_CHARACTERS_MAX + "'")


@pytest.mark.parametrize("pattern", ["%a" * 30 + "%b", "%_" * 500 + "%b", "%a_" * 200 + "b", "_" * 50 + "%" * 50 + "b"])
def test_no_pattern_takes_long_on_any_text(pattern: str) -> None:
    found = compile_filter(f"value LIKE '{pattern}'")
    record: Record = (0, 0, None, None, ((b"value", b"a" * 20_000),))
    assert not found.matches(record)  # backing off would take longer than anybody waits


def test_numbers_stay_small_whatever_is_calculated() -> None:
    found = compile_filter("*".join(["n"] * 60) + " > 0")
    assert found.matches((0, 0, None, None, ((b"n", b"9" * 64),)))
    assert not found.matches((0, 0, None, None, ((b"n", b"9" * 65),)))


@pytest.mark.parametrize(
    "text", [b"1_000", b" 1", b"1 ", b"nan", b"inf", b"0x10", b"1e", b"", b"-", b".", b"\xd9\xa1", b"\xff"]
)
def test_what_python_takes_for_a_number_and_sql_does_not_is_text(text: bytes) -> None:
    assert not compile_filter("n >= 0 OR n < 0").matches((0, 0, None, None, ((b"n", text),)))
