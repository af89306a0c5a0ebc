"""The TOML file: what it says, and on which line."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from onemq.errors import ConfigError


class Source:
    """The TOML file, and where in it a key stands."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._text = ""

    def tables(self) -> dict[str, Any]:
        """The contents; nothing if there is no file."""
        if self._file is None:
            return {}
        try:
            self._text = self._file.read_text("utf-8")
            return tomllib.loads(self._text)
        except OSError as problem:
            raise ConfigError(
                f"{self._file}: cannot be read ({problem.strerror}); give the right file with --config"
            ) from None
        except UnicodeDecodeError:
            raise ConfigError(f"{self._file}: is not UTF-8 text; save it as UTF-8") from None
        except tomllib.TOMLDecodeError as problem:
            self._refuse_syntax(str(problem))

    def _refuse_syntax(self, problem: str) -> NoReturn:
        match = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", problem)
        reason, line = (match[1], match[2]) if match else (problem, None)
        line = line or str(len(self._text.splitlines()) or 1)
        raise ConfigError(f"{self._file}:{line}: not TOML: {reason[:1].lower()}{reason[1:]}; correct the line")

    def refuse(self, path: tuple[str, ...], reason: str) -> NoReturn:
        """Fails over a key or table, naming its place."""
        names = [name if name and name.isprintable() else repr(name) for name in path]
        raise ConfigError(f"{self._file}:{self._line_of(path)}: {'.'.join(names)}: {reason}")

    def _line_of(self, path: tuple[str, ...]) -> int:
        """The line that sets the key, else one that comes closest."""
        best, best_line = 0, 1
        for line, found in _places(self._text):
            common = 0
            while common < min(len(found), len(path)) and found[common] == path[common]:
                common += 1
            if common > best:
                best, best_line = common, line
        return best_line


def _places(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The lines that open a table or set a key, with the path of what they name."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+(?P<name>.*?)\]+\s*(#.*)?$", line):
            table = _path(f"[{header['name']}]")
            yield number, table
        elif "=" in line and (key := _path(f"{line.partition('=')[0]}=0")):
            yield number, table + key


def _path(toml: str) -> tuple[str, ...]:
    """The names in a table header or key; none if it is not one."""
    try:
        found: Any = tomllib.loads(toml)
    except tomllib.TOMLDecodeError:
        return ()
    names = []
    while isinstance(found, dict) and found:
        ((name, found),) = found.items()
        names.append(name)
    return tuple(names)
