r"""Inline commands: a line of words instead of an array, for people at a terminal.

    SET greeting "say \"hello\"\n" 'plain \n'      words end at blanks, quotes hold them together

In double quotes `\n \r \t \b \a \xHH` are escapes and `\` stands before any other character, in
single quotes only `\'` is one. After a closing quote comes a blank or the end of the line.
"""

import re

from onemq.errors import ProtocolError

_BLANKS = re.compile(rb"[ \t\n\r\v\f]*")
_PLAIN_WORD = re.compile(rb"[^ \t\n\r\v\f][^ \t\n\r]*")
_PLAIN_PART = re.compile(rb"[^ \t\n\r\"']*")
_QUOTED_PART = re.compile(rb"""
    "(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"(?=[ \t\n\r\v\f]|\Z)
  | '(?P<single>(?:[^'\\]|\\'|\\(?!'))*)'(?=[ \t\n\r\v\f]|\Z)
""", re.VERBOSE | re.DOTALL)  # fmt: skip
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


def split_words(line: bytes) -> list[bytes]:
    """The words of an inline command; none for a blank line. Fails when a quote does not match."""
    line = line.partition(b"\0")[0]
    if b'"' not in line and b"'" not in line:
        return _PLAIN_WORD.findall(line)
    words = []
    position = _blanks_end(line, 0)
    while position < len(line):
        word, position = _word(line, position)
        words.append(word)
        position = _blanks_end(line, position)
    return words


def _blanks_end(line: bytes, position: int) -> int:
    match = _BLANKS.match(line, position)
    assert match is not None
    return match.end()


def _word(line: bytes, position: int) -> tuple[bytes, int]:
    """The word that begins at `position`, and where it ends."""
    plain = _PLAIN_PART.match(line, position)
    assert plain is not None
    end = plain.end()
    if end == len(line) or line[end : end + 1] not in (b'"', b"'"):
        return plain[0], end
    quoted = _QUOTED_PART.match(line, end)
    if quoted is None:
        raise ProtocolError("unbalanced quotes in request")
    if quoted["double"] is not None:
        return plain[0] + _ESCAPE.sub(_unescaped, quoted["double"]), quoted.end()
    return plain[0] + quoted["single"].replace(b"\\'", b"'"), quoted.end()


def _unescaped(escape: re.Match[bytes]) -> bytes:
    if escape[1]:
        return bytes.fromhex(escape[1].decode())
    character = escape[2]
    return _CONTROLS.get(character, character)
