"""docs/pipelines.md as a program.

Its blocks are run in the order in which they stand:

    python     is executed; all of them share their names
    output     what the Python blocks since the last `output` have printed
    console    lines with `$ onemq ...` are called in this process, so that they share its Spark session; below each
               stands what it prints. A line of three dots stands for any lines
    sh         is not run

Times and the broker's address differ from run to run and are passed over.
"""

import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"
ADDRESS = "localhost:6379"
FOLDER = "/tmp/onemq"
_BLOCK = re.compile(r"^```(python|output|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_CALL = re.compile(r"^\$ onemq (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?")


class Page:
    """The page on one broker and in one folder."""

    def __init__(self, address: str, folder: Path, call: Callable[[list[str]], None]) -> None:
        self._address = address
        self._folder = folder
        self._call = call
        self._names: dict[str, object] = {"__name__": "__main__"}
        self._printed = io.StringIO()

    def run(self) -> None:
        """Runs every block; AssertionError where the page does not say what happens."""
        page = PAGE.read_text()
        for block in _BLOCK.finditer(page):
            kind, text = block.groups()
            if kind == "python":
                self._python("\n" * page.count("\n", 0, block.start(2)) + text)  # errors name the line of the page
            elif kind == "output":
                self._compare("the Python blocks", text, self._printed.getvalue())
                self._printed = io.StringIO()
            else:
                for words, expected in _CALL.findall(text):
                    self._console(words, expected)

    def _python(self, text: str) -> None:
        with contextlib.redirect_stdout(self._printed):
            exec(compile(self._here(text), str(PAGE), "exec"), self._names)

    def _console(self, words: str, expected: str) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self._call(shlex.split(self._here(words)))
        self._compare(f"onemq {words}", expected, printed.getvalue())

    def _here(self, text: str) -> str:
        return text.replace(ADDRESS, self._address).replace(FOLDER, str(self._folder))

    def _compare(self, what: str, shown: str, printed: str) -> None:
        printed = printed.replace(self._address, ADDRESS).replace(str(self._folder), FOLDER)
        assert alike(shown, printed), f"{what}\nprinted\n{printed}\nbut the page says\n{shown}"


def alike(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed."""
    wanted = "".join(_patterns(shown))
    return re.fullmatch(wanted, _lines(printed)) is not None


def _patterns(shown: str) -> Iterator[str]:
    for line in _lines(shown).splitlines():
        yield r"(.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n"


def _lines(text: str) -> str:
    """Without times and without blanks at the end of lines, which a page does not show."""
    return "".join(f"{_TIME.sub('(time)', line).rstrip()}\n" for line in text.splitlines())


def anchors() -> set[str]:
    """What the page's headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", PAGE.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
