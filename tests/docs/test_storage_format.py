"""docs/storage-format.md says what the code does; so do the limits in docs/operations.md.

The page is parsed, not searched: byte tables are compared field by field with the structs and with the drawings in
the module docstrings, names with constants, and the paths with a folder that a broker has written.
"""

import ast
import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from struct import Struct, calcsize
from types import ModuleType

import pytest

from onemq import limits, message
from onemq.core import core, entries, redelivery
from onemq.core.core import Core
from onemq.core.group import GroupConfig
from onemq.core.keyspace import entries as keyspace_entries
from onemq.core.topics import TopicConfig
from onemq.log import batch, distrust, folder, index, journal, sets, snapshot
from onemq.log.disk import OsDisk
from onemq.log.engine import TopicPlace, WriteSet
from onemq.log.local import LocalLog
from onemq.log.repair import QUARANTINE, repair

DOCS = Path(__file__).parents[2] / "docs"
SOURCES = Path(__file__).parents[2] / "src"
PAGE = (DOCS / "storage-format.md").read_text()
OPERATIONS = (DOCS / "operations.md").read_text()

BYTE_TABLES = {
    "Journal file header": (journal.FILE_HEADER, journal),
    "Journal entry": (journal.ENTRY, journal),
    "Payload of an entry": (Struct(">I"), sets),
    "Snapshot header": (snapshot.HEADER, snapshot),
    "Record batch": (batch.HEADER, batch),
    "Index chunk": (index.CHUNK, index),
    "Index row": (index.ROW, None),  # the docstring draws a row within its chunk
}

Row = list[str]


def section(title: str, page: str = PAGE) -> str:
    """The text under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no heading {title!r}"
    return found[1]


def tables(text: str) -> Iterator[list[Row]]:
    """The rows of each table, without its head; cells without code marks."""
    for block in re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE):
        lines = [line.strip().strip("|").replace("`", "") for line in block.splitlines()]
        yield [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


def table(title: str, page: str = PAGE) -> list[Row]:
    """The first table under a heading."""
    return next(tables(section(title, page)))


def numbers(rows: list[Row]) -> list[tuple[int, int]]:
    """(at, bytes) of the fields of fixed size."""
    return [(int(row[0]), int(row[1])) for row in rows if row[0].isdigit() and row[1].isdigit()]


def field_sizes(struct: Struct) -> list[int]:
    """Bytes of each field of a struct."""
    return [calcsize(f">{code}") for code in re.findall(r"\d*[a-zA-Z]", struct.format)]


def docstring(module: ModuleType) -> str:
    """As it stands in the source: compiled modules have none."""
    path = SOURCES / f"{module.__name__.replace('.', '/')}.py"
    return ast.get_docstring(ast.parse(path.read_text()), clean=False) or ""


def drawn_in(module: ModuleType) -> list[tuple[int, int]]:
    """(at, bytes) of the lines in a docstring's drawing of bytes."""
    found = re.findall(r"^ {4}(?:\w+ +| +)?(\d+) +(\d+) {2,}\S", docstring(module), re.MULTILINE)
    return [(int(at), int(size)) for at, size in found]


def kinds_in(module: ModuleType) -> dict[str, int]:
    """The kinds of entries that a module defines."""
    return {name: value for name, value in vars(module).items() if name.isupper() and type(value) is int}


@pytest.mark.parametrize("title", BYTE_TABLES)
def test_a_byte_table_has_the_fields_of_its_struct(title: str) -> None:
    fields = numbers(table(title))
    sizes = field_sizes(BYTE_TABLES[title][0])
    assert [size for _, size in fields] == sizes
    assert [at for at, _ in fields] == [sum(sizes[:place]) for place in range(len(sizes))]


@pytest.mark.parametrize("title", [title for title, (_, module) in BYTE_TABLES.items() if module is not None])
def test_a_byte_table_is_the_drawing_of_its_module(title: str) -> None:
    module = BYTE_TABLES[title][1]
    assert module is not None
    drawn, fields = drawn_in(module), numbers(table(title))
    assert any(drawn[first : first + len(fields)] == fields for first in range(len(drawn))), drawn


@pytest.mark.parametrize("title", [title for title in BYTE_TABLES if title not in ("Index row", "Payload of an entry")])
def test_what_follows_a_struct_begins_at_its_end(title: str) -> None:
    (rest,) = [row for row in table(title) if not row[1].isdigit()] or [[str(BYTE_TABLES[title][0].size)]]
    assert int(rest[0]) == BYTE_TABLES[title][0].size


@pytest.mark.parametrize(
    ("title", "magic"), [("Journal file header", journal.FILE_MAGIC), ("Snapshot header", snapshot.MAGIC)]
)
def test_magic_strings_are_those_of_the_files(title: str, magic: bytes) -> None:
    assert table(title)[0][2] == f"magic {magic.decode()}"


def test_record_batches_have_kafkas_magic_number_and_our_bit() -> None:
    fields = {int(row[0]): row[2] for row in table("Record batch") if row[0].isdigit()}
    assert fields[16] == f"magic: {batch.MAGIC}"
    assert f"{batch.NOT_PERSISTENT.bit_length() - 1} not persistent" in fields[21]
    assert f"bits 0-{batch.COMPRESSION_MASK.bit_length() - 1} compression" in fields[21]


def test_every_version_is_that_of_its_constant() -> None:
    rows = table("Versions")
    for _, constant, version in rows:
        module, _, name = constant.rpartition(".")
        assert getattr(import_module(module), name) == int(version), constant
    named = {constant for _, constant, _ in rows}
    for module, name in ((folder, "FORMAT"), (journal, "VERSION"), (snapshot, "VERSION"), (core, "STATE_VERSION")):
        assert f"{module.__name__}.{name}" in named


def test_every_kind_of_entry_is_named_with_its_number_and_nothing_else_is() -> None:
    for title, module in (
        ("Of topics, groups, the schedule and producers", entries),
        ("Of the keyspace", keyspace_entries),
    ):
        assert {row[1]: int(row[0]) for row in table(title)} == kinds_in(module)


def test_the_core_applies_exactly_the_kinds_that_are_named() -> None:
    broker = Core(unopened_log())
    applied = {kind for part in broker._parts for kind in part.appliers()}
    rows = table("Of topics, groups, the schedule and producers") + table("Of the keyspace")
    assert applied == {int(row[0]) for row in rows}


def test_entries_have_the_fields_that_their_modules_tell() -> None:
    told = dict(re.findall(r"^    ([A-Z_]+) +(\S.*?)(?:  .*)?$", str(entries.__doc__), re.MULTILINE))
    assert {row[1]: row[2] for row in table("Of topics, groups, the schedule and producers")} == told
    rows = re.findall(r"^\| (\d+) .*$", str(keyspace_entries.__doc__), re.MULTILINE)
    told_rows = [row for row in next(tables(str(keyspace_entries.__doc__))) if row[0] in rows]
    assert table("Of the keyspace") == told_rows


def test_a_set_has_the_parts_that_are_named() -> None:
    parts = re.search(r"MessagePack `\[(.*?)\]`", section("Payload of an entry"))
    assert parts is not None
    assert parts[1].split(", ") == list(sets.StoredSet._fields[:-1])
    items = {row[0]: row[1] for row in list(tables(section("Payload of an entry")))[1]}
    assert list(items) == list(sets.StoredSet._fields[:-1])
    assert items["creates"].startswith(f"[{', '.join(TopicPlace._fields)}]")
    assert items["rows"].startswith(f"[{', '.join(sets.Row._fields)}]")


def test_a_set_that_removes_has_the_highest_bit() -> None:
    kept, removing = sets.encode(WriteSet(), [], []), sets.encode(WriteSet(deletes=[1]), [], [])
    assert (kept[0] >> 7, removing[0] >> 7) == (0, 1)


def test_the_state_has_the_parts_of_the_core() -> None:
    """Names on the page have blanks where classes begin a word; lanes are kept by what ranks messages."""
    found = re.search(r"`\[version, (.*?)\]`", section("Snapshot header"))
    assert found is not None
    classes = [re.sub(r"(?<=.)([A-Z])", r" \1", type(part).__name__).lower() for part in Core(unopened_log())._parts]
    assert found[1].split(", ") == [{"keyspace": "keys", "ranking": "lanes"}.get(name, name) for name in classes]
    assert set(found[1].split(", ")) <= {row[0] for row in list(tables(section("Snapshot header")))[1]}


def test_settings_and_policies_are_named() -> None:
    text = section("Of topics, groups, the schedule and producers")
    for settings in (TopicConfig, GroupConfig):
        assert ", ".join(f"`{name}`" for name in settings.__struct_fields__) in " ".join(text.split())
    for kind in redelivery._KINDS:
        assert f'["{kind}"' in text


def test_reserved_headers_are_those_of_messages() -> None:
    reserved = {value.decode() for name, value in vars(message).items() if name.isupper() and isinstance(value, bytes)}
    assert {row[0] for row in table("Reserved headers")} == reserved


def test_the_format_file_reads_as_shown(tmp_path: Path) -> None:
    with_broker(tmp_path)
    assert (tmp_path / folder.FORMAT_FILE).read_text() == section("onemq.json").split("\n")[1].strip()


def test_every_file_that_a_broker_leaves_is_in_the_table(tmp_path: Path) -> None:
    with_broker(tmp_path)
    patterns = [row[0] for row in table("The data folder")]
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    met = set()
    for path in left:
        matching = [pattern for pattern in patterns if re.fullmatch(as_expression(pattern), path)]
        assert len(matching) == 1, path
        met.update(matching)
    assert {pattern for pattern in set(patterns) - met if not pattern.startswith(QUARANTINE)} == {
        folder.LOCK_FILE,
        distrust.PATH,
    }


def test_what_a_repair_puts_aside_is_in_the_table(tmp_path: Path) -> None:
    with_broker(tmp_path)
    (journal_file,) = (tmp_path / journal.FOLDER).iterdir()
    segment = max(tmp_path.glob("topics/*/*.log"))
    os.truncate(segment, segment.stat().st_size // 2)
    journal_file.unlink()
    repair(OsDisk(tmp_path), "20260131-120000")
    aside = [path.relative_to(tmp_path).as_posix() for path in (tmp_path / QUARANTINE).rglob("*") if path.is_file()]
    patterns = [row[0] for row in table("The data folder") if row[0].startswith(QUARANTINE)]
    assert aside
    for path in aside:
        assert any(re.fullmatch(as_expression(pattern), path) for pattern in patterns), path


def test_the_lines_of_python_show_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_broker(tmp_path / "onemq-data")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "storage-format.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "BatchHeader(base_offset=0" in shown
    assert "Ending(good_bytes=" in shown
    assert ".snapshot [[1, 'orders', 1," in shown


def test_every_link_between_the_pages_leads_somewhere() -> None:
    for name in ("architecture.md", "storage-format.md", "glossary.md", "operations.md"):
        for file, anchor in re.findall(r"\]\(([^)#:]*)#?([^)]*)\)", (DOCS / name).read_text()):
            target = DOCS / (file or name)
            if file.endswith(".md"):
                assert target.exists(), f"{name}: {file}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
                assert anchor in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}, anchor


def test_the_limits_in_operations_are_those_of_the_code() -> None:
    rows = table("Limits", OPERATIONS)
    for name, value, _ in rows:
        found = getattr(limits, name, None)
        if found is None:
            found = getattr(limits.CONNECTION_LIMITS, name)
        assert found == as_number(value), name
    known = {name for name, value in vars(limits).items() if name.isupper() and type(value) is int}
    assert known - {"KIB", "MIB"} <= {name for name, _, _ in rows}


# Helpers


def as_number(text: str) -> int:
    """ "64 MiB" or "10,000" as a number."""
    number, _, unit = text.partition(" ")
    return int(number.replace(",", "")) * {"": 1, "KiB": limits.KIB, "MiB": limits.MIB, "ms": 1}[unit]


def as_expression(pattern: str) -> str:
    """A path with <places> as a regular expression."""
    digits = {"<sequence>": r"\d{20}", "<base>": r"\d{20}", "<partition>": r"\d+", "<id>": r"\d+", "<n>": r"\d+"}
    digits |= {"<time>": r"\d{8}-\d{6}", "<position>": r"\d+"}
    expression = re.escape(pattern).replace("<name>", "[^/]+").replace("<path>", ".+")
    for place, digit in digits.items():
        expression = expression.replace(place, digit)
    return expression


def unopened_log() -> LocalLog:
    """A log that is never opened: the core only asks its parts what they apply."""
    return LocalLog(OsDisk("/nowhere"))


def with_broker(root: Path) -> None:
    """Leaves a folder with every kind of file that a run without faults makes."""
    disk = OsDisk(root)
    disk.make_folder("")
    log = LocalLog(disk, index_interval_bytes=128)
    log.open()
    broker = Core(log, disk_watermark=1.1)
    broker.recover(1)
    broker.tick(1)
    topic = broker.topics.create("orders", 1, TopicConfig(segment_bytes=4096))
    for number in range(60):
        broker.send("orders", b"%d" % number * 100)
        broker.settle()
        broker.flush(stored)
    freed: list[int] = []
    log.clean(topic.id, 0, lambda offset: offset % 2 == 0, freed.append)
    assert freed[0] > 0
    log.checkpoint(broker.dump())
    log.close()


def stored(error: object) -> None:
    assert error is None
