"""The configuration: defaults, overrides, and what is said about mistakes."""

import re
from pathlib import Path

import pytest
from msgspec import UNSET

from onemq.config import Config, TopicSettings, load_config
from onemq.errors import ConfigError

EXAMPLE = Path(__file__).parents[3] / "docs" / "onemq.toml"


def load(folder: Path, text: str, **options: object) -> Config:
    file = folder / "onemq.toml"
    file.write_text(text)
    return load_config(file, options)


def refusal(folder: Path, text: str) -> str:
    """What is said about a file, without the path of its folder."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return caught.value.text.replace(f"{folder}/", "")


USERS = """[users]
ann = "secret"
"bob builder" = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
"""


def test_users_have_passwords_or_verifiers(tmp_path: Path) -> None:
    users = load(tmp_path, USERS).users
    assert list(users) == ["ann", "bob builder"]
    assert users["ann"] == "secret"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('ann = ""', "no password"),
        ("ann = 5", "no password"),
        ('"" = "x"', "a user name must not be empty"),
        ('ann = "SCRAM-SHA-256$1:a$b:c"', "a verifier that is damaged"),
    ],
)
def test_a_user_without_a_password_is_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert reason in refusal(tmp_path, f"[users]\n{line}\n")
    assert refusal(tmp_path, f"[users]\n{line}\n").startswith("onemq.toml:2: users.")


def without_file(config: Config) -> Config:
    return Config(config.server, config.log, config.resp, config.kafka, config.topics)


def test_no_file_and_an_empty_file_give_the_defaults(tmp_path: Path) -> None:
    assert load_config() == Config()
    assert without_file(load(tmp_path, "")) == Config()


def test_the_annotated_example_loads_and_equals_the_defaults() -> None:
    assert without_file(load_config(EXAMPLE)) == Config()


def test_the_annotated_example_shows_every_key() -> None:
    text = EXAMPLE.read_text()
    config = Config()
    for table in (config.server, config.log, config.resp):
        for key in table.__struct_encode_fields__:
            assert re.search(rf"^{key} = ", text, re.MULTILINE), key
    for key in TopicSettings.__struct_encode_fields__:
        assert re.search(rf"^# {key} = ", text, re.MULTILINE), key


def test_the_topic_table_of_the_annotated_example_loads_when_its_comment_is_lifted(tmp_path: Path) -> None:
    lines = EXAMPLE.read_text().partition('# [topics."orders"]')
    text = "\n".join(line.removeprefix("# ") for line in (lines[1] + lines[2]).splitlines())
    assert load(tmp_path, text).topics["orders"].retention_ms == 7 * 24 * 3600 * 1000


def test_units_are_understood(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """
        [server]
        drain_timeout = "1m30s"
        [log]
        journal_bytes = "32MiB"
        segment_bytes = 65536
        retention = "7d"
        purge_hour = 4
        [resp]
        listen = "off"
        """,
    )
    assert config.server.drain_timeout_ms == 90_000
    assert config.log.journal_bytes == 32 * 1024 * 1024
    assert config.log.segment_bytes == 65_536
    assert config.log.retention_ms == 7 * 86_400_000
    assert config.log.purge_hour == 4
    assert config.resp.listen is None


def test_a_topic_has_what_its_table_says_and_leaves_the_rest_open(tmp_path: Path) -> None:
    config = load(tmp_path, '[topics."a.b"]\nkind = "queue"\nretention = "off"\n[topics.c]\npartitions = 3')
    assert config.topics["a.b"] == TopicSettings(kind="queue", retention_ms=None)
    assert config.topics["a.b"].flush is UNSET
    assert config.topics["c"].partitions == 3


def test_options_go_before_the_file_and_none_does_not_count(tmp_path: Path) -> None:
    file = '[log]\ndata = "/a"\n[resp]\nlisten = "127.0.0.1:1"'
    options = {"log.data": "/b", "resp.listen": "off", "server.log_level": None}
    config = load(tmp_path, file, **options)
    assert (config.log.data, config.resp.listen, config.server.log_level) == ("/b", None, "info")


MISTAKES = {
    "an unknown table": (
        "[server]\n[serve]\n",
        "onemq.toml:2: serve: unknown; did you mean server?",
    ),
    "an unknown key": (
        "[server]\n\n# a comment\nmax_conections = 5\n",
        "onemq.toml:4: server.max_conections: unknown; did you mean max_connections?",
    ),
    "an unknown key like no other": (
        "[resp]\nzzz = 5\n",
        "onemq.toml:2: resp.zzz: unknown; known are listen",
    ),
    "an unknown key in a topic": (
        '[topics."my.topic"]\npartition = 3\n',
        "onemq.toml:2: topics.my.topic.partition: unknown; did you mean partitions?",
    ),
    "text for a number": (
        '[server]\nmax_connections = "many"\n',
        'onemq.toml:2: server.max_connections: "many" is not accepted; write a whole number from 1 to 1000000',
    ),
    "a number out of range": (
        "[server]\nlog_level = 'info'\nmax_connections = 0\n",
        "onemq.toml:3: server.max_connections: 0 is not accepted; write a whole number from 1 to 1000000",
    ),
    "a truth value for a number": (
        "server.max_connections = true\n",
        "onemq.toml:1: server.max_connections: true is not accepted; write a whole number from 1 to 1000000",
    ),
    "a choice that is none": (
        '[log]\nflush = "never"\n',
        'onemq.toml:2: log.flush: "never" is not accepted; write "sync" or "async"',
    ),
    "a duration without sense": (
        '[server]\ndrain_timeout = "soon"\n',
        'onemq.toml:2: server.drain_timeout: "soon" is not accepted; write a duration from "0ms" to "1h"',
    ),
    "a size out of range": (
        '[log]\nsegment_bytes = "3GiB"\n',
        'onemq.toml:2: log.segment_bytes: "3GiB" is not accepted; write a size from "4KiB" to "2GiB"',
    ),
    "a size that is a list": (
        "[log]\nretention_bytes = [1]\n",
        'onemq.toml:2: log.retention_bytes: [1] is not accepted; '
        'write a size such as "10GiB", at least "1B", or "off"',
    ),
    "a share above one": (
        "[log]\ndisk_watermark = 1.5\n",
        "onemq.toml:2: log.disk_watermark: 1.5 is not accepted; write a number above 0 and up to 1",
    ),
    "an address without port": (
        '[resp]\nlisten = "localhost"\n',
        'onemq.toml:2: resp.listen: "localhost" is not accepted; '
        'write an address such as "127.0.0.1:6379", "[::1]:6379" or "*:6379", or "off"',
    ),
    "a key where a table belongs": (
        "log = 3\n",
        "onemq.toml:1: log: not a table; write [log] and its keys below",
    ),
    "topics that are no tables": (
        "topics = 3\n",
        'onemq.toml:1: topics: not a table; write [topics."name"] and its keys below',
    ),
    "a topic that is no table": (
        "[topics]\norders = 3\n",
        "onemq.toml:2: topics.orders: not a table; write [topics.orders] and its keys below",
    ),
    "an empty topic name": (
        '[topics.a]\n[topics.""]\n',
        "onemq.toml:2: topics.'': a topic name must not be empty; choose another name",
    ),
    "a topic name with control characters": (
        '[topics."a\\u0007"]\n',
        "onemq.toml:1: topics.'a\\x07': a topic name must have printable characters only: 'a\\x07'; "
        "choose another name",
    ),
    "no TOML": (
        "[server]\nlog_level info\n",
        "onemq.toml:2: not TOML: expected '=' after a key in a key/value pair; correct the line",
    ),
    "TOML that ends too early": (
        "[server]\nlog_level = \"info",
        "onemq.toml:2: not TOML: unterminated string; correct the line",
    ),
}


@pytest.mark.parametrize(("text", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_named_with_its_line_and_what_to_do(tmp_path: Path, text: str, expected: str) -> None:
    assert refusal(tmp_path, text) == expected


def test_a_topic_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    assert "may have 249 bytes, this one has 250" in refusal(tmp_path, f"[topics.{'x' * 250}]\n")


def test_every_refusal_is_one_line(tmp_path: Path) -> None:
    for text, _ in MISTAKES.values():
        assert len(refusal(tmp_path, text).splitlines()) == 1
    assert len(refusal(tmp_path, '[log]\nflush = """a\nb"""').splitlines()) == 1


def test_a_wrong_option_is_named_as_on_the_command_line() -> None:
    with pytest.raises(ConfigError, match=r'^--resp: "x" is not accepted; write an address such as'):
        load_config(None, {"resp.listen": "x"})
    with pytest.raises(ConfigError, match=r'^--log-format: "xml" is not accepted; write "readable" or "json"$'):
        load_config(None, {"server.log_format": "xml"})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.toml: cannot be read \(No such file or directory\); give"):
        load_config(tmp_path / "nowhere.toml")


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "onemq.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"onemq.toml: is not UTF-8 text; save it as UTF-8$"):
        load_config(tmp_path / "onemq.toml")
