"""Imports point in one direction, and the quiet parts of OneMQ touch neither clock nor network nor files.

The order is the layout drawn in docs/architecture.md: a place may import itself and what stands before it.
Every rule reads source text only, so nothing is executed and unfinished modules are judged as well.
A new module or package directly under src/onemq needs a place in ORDER.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "onemq"

VOCABULARY = ("onemq", "message", "errors", "limits", "config", "units", "logging", "native", "memory", "users")
LADDER = ("log", "core", "protocols", "net", "server", "embedded", "client", "aio", "testing", "pytest_plugin",
          "pipelines", "console", "cli", "__main__")  # fmt: skip
ORDER = dict.fromkeys(VOCABULARY, 0) | {name: height for height, name in enumerate(LADDER, start=1)}

FRONT_DOOR = "onemq"
"""`onemq/__init__.py` offers names of places that come later, and loads them when they are asked for."""

NETWORK = {"asyncio", "socket", "socketserver", "selectors", "select", "ssl", "uvloop"}
CLOCK_AND_CHANCE = {"time", "random", "secrets"}
THREADS_AND_PROCESSES = {"threading", "multiprocessing", "concurrent", "subprocess", "signal"}
FILES = {"shutil", "tempfile", "mmap", "fcntl", "glob", "fileinput"}

FORBIDDEN_MODULES = {
    "core": NETWORK | CLOCK_AND_CHANCE | THREADS_AND_PROCESSES | {"os", "pathlib"},
    "protocols": NETWORK,
}
MAY_TOUCH_FILES = {"log", "config", "pipelines", "cli", "native"}

# What `os` offers about the process and the machine rather than about files.
OS_WITHOUT_FILES = {
    "PathLike", "cpu_count", "environ", "fspath", "getenv", "getpid", "getuid", "geteuid", "kill", "name",
    "path", "sched_getaffinity", "sysconf", "times", "uname", "urandom",
}  # fmt: skip
MODULES_WITH_OPEN = {"io", "codecs", "gzip", "bz2", "lzma", "tokenize"}
PATH_METHODS_WITH_FILES = {
    "exists", "glob", "is_dir", "is_file", "iterdir", "mkdir", "read_bytes", "read_text", "rglob", "rmdir",
    "stat", "touch", "unlink", "write_bytes", "write_text",
}  # fmt: skip
CLOCK_METHODS = {"now", "utcnow", "today"}


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module or name; the target of `from .log import engine` is `onemq.log.engine`.

    In the file, the name `bound_as` then `stands_for` the target, or for `os` after `import os.path`.
    """

    line: int
    target: str
    bound_as: str
    stands_for: str


@dataclass(frozen=True, slots=True)
class Module:
    """A source file: its dotted name, its syntax tree and everything it imports, at whatever depth."""

    name: str
    tree: ast.Module
    imports: tuple[Import, ...]

    @property
    def place(self) -> str:
        return place_of(self.name)

    def aliases(self) -> dict[str, str]:
        """What a name in this file stands for, as far as imports decide it."""
        return {item.bound_as: item.stands_for for item in self.imports}


def parse(name: str, source: str, *, is_package: bool = False) -> Module:
    tree = ast.parse(source)
    return Module(name, tree, tuple(imports_in(tree, name if is_package else name.rpartition(".")[0])))


def imports_in(tree: ast.Module, package: str) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                stands_for = alias.name if alias.asname else root
                yield Import(node.lineno, alias.name, alias.asname or root, stands_for)
        elif isinstance(node, ast.ImportFrom):
            base = absolute_base(node, package)
            for alias in node.names:
                target = f"{base}.{alias.name}"
                yield Import(node.lineno, target, alias.asname or alias.name, target)


def absolute_base(node: ast.ImportFrom, package: str) -> str:
    if node.level == 0:
        return node.module or ""
    parts = package.split(".")
    kept = parts[: len(parts) - (node.level - 1)]
    return ".".join([*kept, node.module] if node.module else kept)


def place_of(dotted: str) -> str:
    """The part of OneMQ that a name belongs to; `onemq` for what `onemq/__init__.py` itself defines."""
    parts = dotted.split(".")
    if len(parts) == 1:
        return "onemq"
    is_module = len(parts) > 2 or parts[1] in ORDER or is_top_level_module(parts[1])
    return parts[1] if is_module else "onemq"


def is_top_level_module(name: str) -> bool:
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()


def is_own(target: str) -> bool:
    return target == "onemq" or target.startswith("onemq.")


def misdirected_imports(module: Module) -> Iterator[tuple[int, str]]:
    if module.place not in ORDER:
        yield 1, f"onemq.{module.place} has no place yet: add it to the order in tests/unit/test_imports.py"
        return
    for item in module.imports:
        if not is_own(item.target) or module.name == FRONT_DOOR:
            continue
        place = place_of(item.target)
        if place not in ORDER:
            yield item.line, f"imports {item.target}, and {place} has no place in the order"
        elif ORDER[place] > ORDER[module.place]:
            yield item.line, f"{module.place} imports {item.target}, but {place} stands after {module.place}"


def imports_between_protocols(module: Module, protocols: set[str]) -> Iterator[tuple[int, str]]:
    own = protocol_of(module.name, protocols)
    for item in module.imports:
        other = protocol_of(item.target, protocols)
        if own and other and own != other:
            yield item.line, f"protocol {own} imports {item.target}: a protocol knows no other"


def protocol_of(dotted: str, protocols: set[str]) -> str | None:
    parts = dotted.split(".")
    in_a_folder = len(parts) > 2 and parts[:2] == ["onemq", "protocols"] and parts[2] in protocols
    return parts[2] if in_a_folder else None


def forbidden_modules(module: Module) -> Iterator[tuple[int, str]]:
    forbidden = FORBIDDEN_MODULES.get(module.place, set())
    for item in module.imports:
        root = item.target.partition(".")[0]
        if root in forbidden:
            yield item.line, f"{module.place} must not import {root}"


def clock_reads_and_awaits(module: Module) -> Iterator[tuple[int, str]]:
    if module.place != "core":
        return
    aliases = module.aliases()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield node.lineno, "core is synchronous: no async, no await"
        elif isinstance(node, ast.Attribute) and node.attr in CLOCK_METHODS:
            owner = meaning(node.value, aliases)
            if owner.startswith("datetime."):
                yield node.lineno, f"core must not read the clock: {owner}.{node.attr}"


def meaning(node: ast.expr, aliases: dict[str, str]) -> str:
    """The dotted name that an expression stands for, through the file's imports; "" for anything else."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "")
    if isinstance(node, ast.Attribute):
        owner = meaning(node.value, aliases)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def file_access(module: Module) -> Iterator[tuple[int, str]]:
    if module.place in MAY_TOUCH_FILES:
        return
    for line, what in [*file_imports(module), *file_calls(module)]:
        yield line, f"{module.place} touches files ({what}): only {', '.join(sorted(MAY_TOUCH_FILES))} may"


def file_imports(module: Module) -> Iterator[tuple[int, str]]:
    for item in module.imports:
        root, _, name = item.target.partition(".")
        if root in FILES:
            yield item.line, f"import {root}"
        elif root == "os" and name and name.partition(".")[0] not in OS_WITHOUT_FILES:
            yield item.line, f"os.{name}"
        elif root in MODULES_WITH_OPEN and name == "open":
            yield item.line, item.target


def file_calls(module: Module) -> Iterator[tuple[int, str]]:
    aliases = module.aliases()
    knows_paths = any(item.target.partition(".")[0] == "pathlib" for item in module.imports)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            if "open" not in aliases:
                yield node.lineno, "open()"
        elif isinstance(node, ast.Attribute):
            owner = meaning(node.value, aliases)
            if owner == "os" and node.attr not in OS_WITHOUT_FILES:
                yield node.lineno, f"os.{node.attr}"
            elif owner in MODULES_WITH_OPEN and node.attr == "open":
                yield node.lineno, f"{owner}.open"
            elif knows_paths and not owner and node.attr in PATH_METHODS_WITH_FILES:
                yield node.lineno, f".{node.attr}()"
            elif node.attr == "open" and is_path_call(node.value, aliases):
                yield node.lineno, "Path().open"


def is_path_call(node: ast.expr, aliases: dict[str, str]) -> bool:
    return isinstance(node, ast.Call) and meaning(node.func, aliases).startswith("pathlib.")


def problems_in(module: Module, protocols: set[str]) -> list[tuple[int, str]]:
    return sorted(
        {
            *misdirected_imports(module),
            *imports_between_protocols(module, protocols),
            *forbidden_modules(module),
            *clock_reads_and_awaits(module),
            *file_access(module),
        }
    )


def module_name(path: Path) -> str:
    parts = ("onemq", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def protocol_folders() -> set[str]:
    return {path.parent.name for path in (SOURCE / "protocols").glob("*/__init__.py")}


def test_every_module_keeps_to_its_place() -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    assert paths, f"no modules found under {SOURCE}"
    report = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        module = parse(module_name(path), text, is_package=path.name == "__init__.py")
        where = path.relative_to(SOURCE.parents[1])
        report += [f"{where}:{line}: {what}" for line, what in problems_in(module, protocol_folders())]
    if report:
        pytest.fail("\n".join(["imports leave the drawn direction:", *report]), pytrace=False)


ALLOWED = [
    ("onemq.errors", "import enum"),
    ("onemq.log.engine", "import os\nfrom onemq.errors import NotFound\nos.open('x', 0)\nopen('x')"),
    ("onemq.log.segment", "from . import engine\nfrom .engine import Log\nfrom .. import limits"),
    ("onemq.core.broker", "from onemq import limits\nfrom onemq.log.engine import Log\nnow_ms = 3"),
    ("onemq.core.cron", "from datetime import datetime\ndatetime.fromtimestamp(1)"),
    ("onemq.core.topics", "def now(self): return self.clock.now()"),
    ("onemq.protocols.resp.session", "from onemq.core import broker\nfrom .codec import Codec"),
    ("onemq.protocols.resp.session", "from onemq.protocols import table\nfrom ..table import Row"),
    ("onemq.protocols.kafka.codec", "reader.read_bytes(4)"),
    ("onemq.net.connection", "import asyncio, os, time\nos.getpid()"),
    ("onemq.server", "from pathlib import Path\nfrom onemq.log import files\nfiles.open(Path('x') / 'y')"),
    ("onemq.config", "from pathlib import Path\nPath('x').read_text()"),
    ("onemq.cli.main", "from onemq import __version__, server\nopen('x')"),
]

REFUSED = [
    ("onemq.errors", "from onemq.log import engine", "log stands after errors"),
    ("onemq.log.engine", "import onemq.core.broker", "core stands after log"),
    ("onemq.log.engine", "def f():\n    from ..core import broker", "core stands after log"),
    ("onemq.core.broker", "from onemq import protocols", "protocols stands after core"),
    ("onemq.core.broker", "from ..protocols.resp import codec", "protocols stands after core"),
    ("onemq.protocols.resp.session", "from onemq.net.listener import Listener", "net stands after protocols"),
    ("onemq.net.listener", "from onemq.server import Server", "server stands after net"),
    ("onemq.server", "from onemq.cli import main", "cli stands after server"),
    ("onemq.misplaced.thing", "", "has no place yet"),
    ("onemq.cli.main", "import onemq.misplaced.thing", "has no place in the order"),
    ("onemq.protocols.resp.session", "from onemq.protocols import kafka", "a protocol knows no other"),
    ("onemq.protocols.resp.session", "from ..kafka.codec import decode", "a protocol knows no other"),
    ("onemq.protocols.resp.session", "import asyncio", "must not import asyncio"),
    ("onemq.protocols.resp.session", "from socket import AF_INET", "must not import socket"),
    ("onemq.core.broker", "import time", "must not import time"),
    ("onemq.core.broker", "from os import path", "must not import os"),
    ("onemq.core.broker", "from concurrent.futures import Future", "must not import concurrent"),
    ("onemq.core.broker", "import datetime\ndatetime.datetime.now()", "must not read the clock"),
    ("onemq.core.broker", "from datetime import datetime as d\nx = d.now", "must not read the clock"),
    ("onemq.core.broker", "async def f(): ...", "core is synchronous"),
    ("onemq.core.broker", "open('x')", "touches files (open())"),
    ("onemq.protocols.resp.session", "import os\nos.remove('x')", "touches files (os.remove)"),
    ("onemq.net.listener", "import os.path\nos.stat('x')", "touches files (os.stat)"),
    ("onemq.net.listener", "from os import unlink", "touches files (os.unlink)"),
    ("onemq.net.listener", "import io\nio.open('x')", "touches files (io.open)"),
    ("onemq.server", "from pathlib import Path\nPath('x').mkdir()", "touches files (.mkdir())"),
    ("onemq.server", "from pathlib import Path\nPath('x').open()", "touches files (Path().open)"),
    ("onemq.server", "import tempfile", "touches files (import tempfile)"),
]


@pytest.mark.parametrize(("name", "source"), ALLOWED)
def test_what_the_drawing_allows_passes(name: str, source: str) -> None:
    assert problems_in(parse(name, source), {"resp", "kafka"}) == []


@pytest.mark.parametrize(("name", "source", "expected"), REFUSED)
def test_what_the_drawing_forbids_is_reported(name: str, source: str, expected: str) -> None:
    problems = problems_in(parse(name, source), {"resp", "kafka"})
    assert len(problems) == 1, problems
    assert expected in problems[0][1]
