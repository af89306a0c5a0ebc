"""Bodies: from a Python value to bytes with a content type, and back to what a handler asks for.

    value                                                   type      body
    bytes, bytearray, memoryview                            bytes     as it is
    str                                                     text      UTF-8
    dict, list, numbers, True, None, dataclasses,           json      JSON in UTF-8
      msgspec structs, pydantic models, dates, UUIDs, ...   msgpack   MessagePack, where it is asked for

Reading back, the annotation of the handler's parameter decides; without one, the content type does. Nothing here
can run code that a message brings along: there is no pickle, neither to write nor to read.
"""

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from typing import Any, Final

import msgspec

from onemq.errors import BadBody

TEXT: Final = "text"
BYTES: Final = "bytes"
JSON: Final = "json"
MSGPACK: Final = "msgpack"

_SHOWN_CHARACTERS_MAX = 60


def encode(value: object, *, packed: bool = False) -> tuple[bytes, str]:
    """The body and its content type; `packed` takes MessagePack in place of JSON. Fails with BadBody."""
    if isinstance(value, bytes):
        return value, BYTES
    if isinstance(value, str):
        return _encode_text(value), TEXT
    if isinstance(value, bytearray | memoryview):
        return bytes(value), BYTES
    try:
        if packed:
            return msgspec.msgpack.encode(value, enc_hook=_plain), MSGPACK
        return msgspec.json.encode(value, enc_hook=_plain), JSON
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise BadBody(
            f"a {type(value).__qualname__} cannot be sent: {problem}; send text, bytes, what JSON knows, "
            "a dataclass, a msgspec struct or a pydantic model"
        ) from None


def decode(body: bytes, content_type: str | None = None, annotation: Any = None) -> Any:
    """The value of a body. Without an annotation (None or Any), text becomes str, JSON and MessagePack what they
    hold, and everything else stays bytes. Fails with BadBody."""
    if annotation is bytes:
        return body
    if annotation is str:
        return _decode_text(body)
    try:
        if annotation is None or annotation is Any:
            return _decode_plain(body, content_type)
        return _decoder(content_type == MSGPACK, annotation)(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        wanted = content_type if annotation is None or annotation is Any else name_of(annotation)
        raise BadBody(f"the body is not {wanted}: {_reason(problem)}; it is {_shown(body)}") from None


def annotation_of(handler: Callable[..., object]) -> Any:
    """The annotation of the handler's first parameter, None where it has none. Works for functions, methods,
    partials, classes of callables and coroutine functions; a name as text is looked up. Fails with TypeError."""
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except ValueError:  # something built in, which tells nothing of itself
        return None
    if not parameters:
        raise TypeError(f"{_name_of_handler(handler)} takes nothing; a handler takes the message")
    annotation = parameters[0].annotation
    if annotation is inspect.Parameter.empty:
        return None
    return _looked_up(handler, parameters[0].name) if isinstance(annotation, str) else annotation


def name_of(annotation: Any) -> str:
    """An annotation as people write it."""
    is_plain = isinstance(annotation, type) and not typing.get_args(annotation)
    return annotation.__qualname__ if is_plain else str(annotation)


# Encoding


def _encode_text(value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError as problem:
        raise BadBody(f"the text cannot be sent: {problem}; send bytes") from None


def _plain(value: object) -> object:
    """What msgspec does not know by itself."""
    if _is_model(type(value)):
        return value.model_dump(mode="json")  # type: ignore[attr-defined]
    raise TypeError(f"{type(value).__qualname__} has no form in JSON")


def _is_model(kind: object) -> bool:
    """Whether it is a class of pydantic models. If it is, pydantic has been loaded by whoever made it."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


# Decoding


def _decode_text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as problem:
        raise BadBody(f"the body is not text: {problem}; it is {_shown(body)}") from None


def _reason(problem: Exception) -> str:
    """On one line: pydantic tells its own on many."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not isinstance(problem, pydantic.ValidationError):
        return str(problem)
    return ", ".join(f"{each['msg']} - at `{'.'.join(map(str, each['loc']))}`" for each in problem.errors())


def _decode_plain(body: bytes, content_type: str | None) -> Any:
    if content_type == TEXT:
        return _decode_text(body)
    if content_type == JSON:
        return msgspec.json.decode(body)
    if content_type == MSGPACK:
        return msgspec.msgpack.decode(body)
    return body


@functools.lru_cache(maxsize=256)
def _decoder(packed: bool, annotation: Any) -> Callable[[bytes], Any]:
    """Reads bodies of one type. Made once for each annotation, since making it is the costly part."""
    if _is_model(annotation) and not packed:
        validate: Callable[[bytes], Any] = annotation.model_validate_json
        return validate
    kind = msgspec.msgpack.Decoder if packed else msgspec.json.Decoder
    try:
        return kind(annotation, dec_hook=_validated).decode
    except TypeError as problem:
        raise BadBody(f"{name_of(annotation)} cannot be read from a message: {problem}") from None


def _validated(kind: type, value: object) -> object:
    """What msgspec does not know by itself, out of plain values."""
    if _is_model(kind):
        try:
            return kind.model_validate(value)  # type: ignore[attr-defined]
        except ValueError as problem:
            raise ValueError(_reason(problem)) from None
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    raise ValueError(f"a {name_of(kind)} cannot be read from a message")


# Annotations


def _looked_up(handler: Callable[..., object], parameter: str) -> Any:
    """What an annotation stands for that was written as text, or under `from __future__ import annotations`."""
    function: Any = handler.func if isinstance(handler, functools.partial) else handler
    if not inspect.isroutine(function):
        function = function.__init__ if inspect.isclass(function) else type(function).__call__
    try:
        hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except NameError as problem:
        raise TypeError(
            f"the annotations of {_name_of_handler(handler)} cannot be read: {problem}; "
            "define the types of a message at the top of the module"
        ) from None
    return hints.get(parameter)


def _name_of_handler(handler: object) -> str:
    return str(getattr(handler, "__qualname__", handler))


def _shown(body: bytes) -> str:
    text = repr(body[:_SHOWN_CHARACTERS_MAX])[1:]
    return f"{text}..." if len(body) > _SHOWN_CHARACTERS_MAX else text
