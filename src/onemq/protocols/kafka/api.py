"""One API: its messages, the versions that are served, and who answers. The table of all is in apis.py."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from onemq.errors import OneMQError
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import code_of
from onemq.protocols.kafka.fields import fields_in
from onemq.protocols.kafka.schema import Message

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message)


@dataclass(frozen=True, slots=True)
class Api:
    """One API as it is served."""

    key: int
    name: str
    request: type[Message]
    response: type[Message]
    first: int
    last: int
    """The versions served, both included."""
    handler: Callable[[Call[Any]], Message | None]
    refuse: Callable[[Any, OneMQError], Message] | None
    """Makes the answer to a request that failed as a whole, where a code at the top of it does not say it."""
    shown_first: int
    """The lowest version that clients are told of."""

    def refusal(self, call: Call[Any], error: OneMQError) -> Message:
        """The answer to a request that failed as a whole. Raises the error again if there is none."""
        if self.refuse is not None and not error.closes:
            return self.refuse(call.request, error)
        fields = [field.name for field in fields_in(self.response, max(call.version, 0))]
        if error.closes or "error_code" not in fields:
            raise error
        text = {"error_message": error.text} if "error_message" in fields else {}
        return self.response(error_code=code_of(error), **text)


def api(
    request: type[R],
    response: type[A],
    handler: Callable[[Call[R]], A | None],
    *,
    first: int | None = None,
    last: int | None = None,
    refuse: Callable[[R, OneMQError], A] | None = None,
    shown_first: int | None = None,
) -> Api:
    """Served in all versions that the schema knows, from `first` up to `last` if these are given."""
    first = request.versions[0] if first is None else first
    return Api(
        request.api_key,
        request.__name__.removesuffix("Request"),
        request,
        response,
        first,
        request.versions[-1] if last is None else last,
        handler,
        refuse,
        first if shown_first is None else shown_first,
    )
