"""Error replies as errors of the one tree."""

import pytest
from hiredis import ReplyError

from onemq import errors
from onemq.client.replies import error_of
from onemq.protocols.resp.errors import mq_error_line

TOLD_APART = (
    errors.AlreadyExists,
    errors.Busy,
    errors.DiskFull,
    errors.Fenced,
    errors.InvalidArgument,
    errors.NotFound,
    errors.OffsetOutOfRange,
    errors.OutOfOrderSequence,
    errors.ReadOnly,
    errors.TooLarge,
    errors.TransactionEnded,
    errors.WrongType,
)


@pytest.mark.parametrize("kind", TOLD_APART)
def test_an_error_of_the_broker_is_the_same_error_in_the_client(kind: type[errors.OneMQError]) -> None:
    error = error_of(ReplyError(mq_error_line(kind("what happened"))))
    assert type(error) is kind
    assert "what happened" in error.text


def test_the_first_word_is_not_shown() -> None:
    assert error_of(ReplyError("NOTOPIC there is no topic 't'")).text == "there is no topic 't'"
