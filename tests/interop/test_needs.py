"""What becomes of tests without the programs that they need."""

import pytest

from tests.needs import needs


def test_without_a_program_they_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEMQ_NEEDS_ALL", raising=False)
    mark = needs("the program is missing").mark
    assert (mark.args, mark.kwargs) == ((True,), {"reason": "the program is missing"})


def test_where_all_are_needed_that_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEMQ_NEEDS_ALL", "1")
    assert needs("").mark.args == (False,)
    with pytest.raises(pytest.fail.Exception, match="the program is missing"):
        needs("the program is missing")
