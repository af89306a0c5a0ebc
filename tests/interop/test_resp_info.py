"""INFO has the sections and the names that Redis has, but for those that docs/protocols/resp.md lists (D1)."""

import re
from pathlib import Path

import pytest
import redis

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.process import Serve

pytestmark = needs_redis_server

PAGE = (Path(__file__).parents[2] / "docs/protocols/resp.md").read_text()
OURS = {
    "Server": {"onemq_version"},
    "Clients": {"connections_of_all_protocols", "pubsub_clients"},
    "Persistence": {"read_only"},
}
"""Names that Redis 7.0 does not have."""
FORMS = (
    r"-?\d+", r"-?\d+\.\d\d", r"\d+\.\d{6}", r"\d+\.\d\d%", r"[0-9a-f]{40}", r"ok|err", r"0B", r"count=\d+",
    r"keys=\d+,expires=\d+,avg_ttl=\d+",
)  # fmt: skip
Sections = dict[str, dict[str, str]]


def sections(text: str) -> Sections:
    found: Sections = {}
    for part in re.split(r"^# ", text.replace("\r", ""), flags=re.MULTILINE)[1:]:
        title, *lines = part.splitlines()
        found[title] = dict(line.split(":", 1) for line in lines if line)
    return found


def info(client: redis.Redis, *words: str) -> Sections:
    told = reply(client, "INFO", *words)
    assert isinstance(told, bytes), told
    return sections(told.decode())


def left_out() -> tuple[dict[str, list[str]], set[str]]:
    """The names that the page says are left out, by section, and the sections that are left out as a whole."""
    written = re.search(r"<!-- info -->\n(.*?)<!-- /info -->", PAGE, re.DOTALL)
    assert written is not None
    names: dict[str, list[str]] = {}
    whole = set()
    for line in written[1].splitlines()[2:]:
        title, listed, reason = (each.strip() for each in line.strip("|").split(" | "))
        assert reason
        if listed == "all of it":
            whole.add(title)
        else:
            names.setdefault(title, []).extend(re.findall(r"`(.+?)`", listed))
    return names, whole


@pytest.fixture
def both(pair: Pair) -> tuple[Sections, Sections]:
    """What OneMQ and what Redis tell after the same commands."""
    pair.same("CONFIG", "RESETSTAT")
    pair.same("SET", "k", "v", "EX", "1000")
    pair.same("LPUSH", "k", "v")
    pair.same("NOPE")
    return info(pair.ours), info(pair.theirs)


def test_the_names_are_those_of_redis_but_for_those_on_the_page(both: tuple[Sections, Sections]) -> None:
    ours, theirs = both
    listed, _ = left_out()
    assert [title for title in ours if title != "OneMQ"] == list(theirs)
    for title, facts in theirs.items():
        missing = set(facts) - set(ours[title])
        assert sorted(missing) == sorted(listed.get(title, [])), title
        assert set(ours[title]) - set(facts) == OURS.get(title, set()), title


def test_values_have_the_form_of_those_of_redis(both: tuple[Sections, Sections]) -> None:
    ours, theirs = both
    for title, facts in theirs.items():
        for name, value in facts.items():
            form = next((each for each in FORMS if re.fullmatch(each, value)), ".*")
            told = ours[title].get(name)
            assert told is None or re.fullmatch(form, told), f"{title} {name}: OneMQ {told!r}, Redis {value!r}"


def test_what_is_0_in_a_redis_without_replicas_is_the_same_here(both: tuple[Sections, Sections]) -> None:
    ours, theirs = both
    moving = {"master_replid", "repl_backlog_size"}
    for name in theirs["Replication"].keys() - moving:
        assert ours["Replication"][name] == theirs["Replication"][name]
    assert ours["Errorstats"] == theirs["Errorstats"]
    for name in ("total_connections_received", "total_error_replies", "rejected_connections"):
        assert ours["Stats"][name] == theirs["Stats"][name], name


@pytest.mark.parametrize("word", ["all", "everything", "default"])
def test_sections_by_their_common_names(pair: Pair, word: str) -> None:
    _, whole = left_out()
    ours, theirs = (list(info(client, word)) for client in (pair.ours, pair.theirs))
    assert [title for title in ours if title != "OneMQ"] == [title for title in theirs if title not in whole]


def test_a_single_section_begins_and_ends_alike(pair: Pair) -> None:
    for word in ("cluster", "CLUSTER", "modules", "nope", "modules cluster"):
        pair.same("INFO", *word.split())


def test_what_stays_with_the_data_and_what_does_not(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            found.append(serving.info())
    first, second = found
    assert first["master_replid"] == second["master_replid"] != "0" * 40
    assert first["run_id"] != second["run_id"]
    assert int(first["used_memory"]) < int(first["total_system_memory"])
    assert float(first["used_cpu_user"]) > float(first["used_cpu_user_children"])


def test_connections_that_were_too_many_are_counted(tmp_path: Path) -> None:
    (tmp_path / "onemq.toml").write_text("[server]\nmax_connections = 1\n")
    with Serve(tmp_path / "data", "--config", str(tmp_path / "onemq.toml")) as serving:
        serving.wait_until_serving()
        with redis.Redis(port=serving.port, single_connection_client=True) as client:
            while int(client.info("stats")["rejected_connections"]) < 2:
                assert serving.command("PING") in (b"-ERR max number of clients reached\r\n", b"")
