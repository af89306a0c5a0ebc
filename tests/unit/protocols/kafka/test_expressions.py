"""Regular expressions of clients."""

import pytest

from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.expressions import compile_expression


@pytest.mark.parametrize("slow", ["(a+)+b", "a?" * 60 + "c", "(aa|a)" * 60, ".*.*.*.*.*.*.*x", "(a|a)*b"])
def test_what_takes_for_ever_elsewhere_is_matched_at_once(slow: str) -> None:
    """With Python's own engine this test does not end."""
    assert compile_expression(slow).fullmatch("a" * 40 + "!") is None


def test_all_of_a_text_must_match() -> None:
    expression = compile_expression("orders-[0-9]+|é.*")
    assert expression.fullmatch("orders-12")
    assert expression.fullmatch("été")
    assert not expression.fullmatch("orders-12b")
    assert not expression.fullmatch("my-orders-12")


@pytest.mark.parametrize("wrong", ["(", "*", "[z-a]", r"(a)\1", "(?=a)", "x" * 1_001, "((a{1000}){1000}){1000}"])
def test_what_cannot_be_compiled_is_told(wrong: str) -> None:
    with pytest.raises(Refused) as refused:
        compile_expression(wrong)
    assert refused.value.error is ErrorCode.INVALID_REGULAR_EXPRESSION
