"""Groups: members, failures, leases, seeks, settings, and groups that go."""

import pytest

from onemq.core.delivery import COUNT_MAX
from onemq.core.group import Group, GroupConfig
from onemq.core.redelivery import Backoff, Immediate, Ladder
from onemq.core.start import FIRST, LAST
from onemq.errors import InvalidArgument, NotFound
from onemq.limits import HISTORY_MAX, NAME_BYTES_MAX, REASON_CHARACTERS_MAX
from onemq.units import DURATION_MS_MAX
from tests.unit.core.broker import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    NOW_MS,
    SECOND_MS,
    Answers,
    Broker,
    in_flight,
    in_memory,
    state,
)


@pytest.fixture
def group(broker: Broker) -> Group:
    """A group on a topic with six messages, 0 to 5."""
    broker.topic()
    broker.send(*[b"%d" % number for number in range(6)])
    return broker.group()


# What is refused


def test_a_partition_that_is_not_there_is_refused_by_every_call(broker: Broker, group: Group) -> None:
    before = state(broker.core)
    with broker.turn() as core:
        for number in (1, -1):
            for call in (
                lambda number=number: core.groups.acknowledge(group, number, [0]),
                lambda number=number: core.groups.fail(group, number, [0], ""),
                lambda number=number: core.groups.give_back(group, number, [0]),
                lambda number=number: core.groups.reject(group, number, 0, ""),
                lambda number=number: core.claims.claim(group, number, [0], "m"),
                lambda number=number: core.groups.seek(group, number, 0),
                lambda number=number: core.receiving.receive(group, "m", 1, lambda handed: None, number=number),
            ):
                with pytest.raises(InvalidArgument, match="no partition"):
                    call()
    assert state(broker.core) == before


@pytest.mark.parametrize("name", ["", "x" * (NAME_BYTES_MAX + 1), "a\tb"])
def test_names_of_groups_and_members_have_the_limits_of_all_names(broker: Broker, name: str) -> None:
    broker.topic()
    broker.send(b"1")
    group = broker.group()
    with broker.turn() as core:
        with pytest.raises(InvalidArgument, match="group name"):
            core.create_group("t", name, FIRST)
        with pytest.raises(InvalidArgument, match="member name"):
            core.groups.join(group, name, leased=True)
        with pytest.raises(InvalidArgument, match="member name"):
            core.receiving.receive(group, name, 1, lambda handed: None)
        with pytest.raises(InvalidArgument, match="member name"):
            core.receiving.receive(group, name, 1, lambda handed: None, broker.now_ms + 1)
    assert group.members == {}
    assert group.lag == 1


# Several groups, several members


def test_groups_never_disturb_each_other(broker: Broker, group: Group) -> None:
    """C3"""
    other = broker.group(name="other", policy=Immediate(2))
    late = broker.group(name="late", start=LAST)
    broker.receive(group)
    broker.acknowledge(group, 0, 1, 2)
    broker.receive(other)
    broker.fail(other, 0)
    with broker.turn() as core:
        core.groups.leave(other, "m")
        core.groups.delete(other)
    assert in_flight(group) == dict.fromkeys((3, 4, 5), ("m", 1))
    assert group.cursors[0].low == 3
    assert (late.lag, broker.bodies(late)) == (0, [])


def test_members_share_what_their_group_gets_and_each_message_goes_to_one(broker: Broker, group: Group) -> None:
    """C1, C3"""
    shares = {member: broker.bodies(group, member, most=2) for member in ("a", "b", "c")}
    assert shares == {"a": [b"0", b"1"], "b": [b"2", b"3"], "c": [b"4", b"5"]}
    assert broker.bodies(group, "d") == []


def test_a_member_that_leaves_gives_its_deliveries_back_at_once(broker: Broker, group: Group) -> None:
    """The lease follows the member."""
    with broker.turn() as core:
        core.groups.join(group, "a", leased=True)
        core.groups.join(group, "b", leased=True)
    broker.receive(group, "a", most=3)
    broker.receive(group, "b", most=1)
    broker.acknowledge(group, 1)
    answers = Answers(broker, group)
    with broker.turn() as core:
        answers.ask("c", most=10)
    assert answers.told == {"c": [b"4", b"5"]}
    with broker.turn() as core:
        answers.ask("d", most=10)
    with broker.turn() as core:
        assert core.groups.leave(group, "a") == 2
    assert answers.told["d"] == [b"0", b"2"]
    assert in_flight(group) == {0: ("d", 2), 2: ("d", 2), 3: ("b", 1), 4: ("c", 1), 5: ("c", 1)}
    assert "a" not in group.members


def test_what_a_member_gave_back_goes_before_what_is_fresh_lowest_first(broker: Broker, group: Group) -> None:
    broker.receive(group, "a", most=3)
    broker.fail(group, 2)
    broker.fail(group, 0)
    assert broker.bodies(group, "b") == [b"0", b"2", b"3", b"4", b"5"]


def test_leaving_twice_or_without_having_joined_gives_nothing_back(broker: Broker, group: Group) -> None:
    with broker.turn() as core:
        core.groups.join(group, "a", leased=True)
        assert core.groups.leave(group, "a") == 0
        assert core.groups.leave(group, "a") == 0


def test_whoever_receives_is_a_member_that_keeps_its_deliveries(broker: Broker, group: Group) -> None:
    """As the consumers of Redis Streams: they come back and find what they had."""
    broker.receive(group, "a", most=2)
    assert not group.members["a"].leased


def test_joining_again_changes_the_lease_and_nothing_else(broker: Broker, group: Group) -> None:
    broker.receive(group, "a", most=2)
    with broker.turn() as core:
        member = core.groups.join(group, "a", leased=True)
    assert (member.leased, len(in_flight(group))) == (True, 2)
    with broker.turn() as core:
        assert core.groups.join(group, "a", leased=True) is member


def test_a_restart_ends_leases_and_members_without_one_keep_their_deliveries(local: Broker) -> None:
    local.topic()
    local.send(b"0", b"1", b"2")
    group = local.group()
    with local.turn() as core:
        core.groups.join(group, "leased", leased=True)
    local.receive(group, "leased", most=2)
    local.receive(group, "kept", most=1)
    local.restart()
    group = local.core.groups.get("t", "g")
    assert list(group.members) == ["kept"]
    assert in_flight(group) == {0: (None, 1), 1: (None, 1), 2: ("kept", 1)}
    history = group.cursors[0].unacknowledged[0].history
    assert history == ((NOW_MS, "leased", NOW_MS, "the broker restarted"),)
    assert local.bodies(group, "other") == [b"0", b"1"]
    assert local.acknowledge(group, 2) == 1


# Giving back and failing


def test_giving_back_does_not_count_and_leaves_no_trace(broker: Broker, group: Group) -> None:
    """C9: requeue of what was never tried."""
    for _ in range(3):
        broker.receive(group, most=2)
        with broker.turn() as core:
            assert core.groups.give_back(group, 0, [0, 1, 1, 77]) == 2
    assert in_flight(group) == {0: (None, 0), 1: (None, 0)}
    assert [count for _, _, count in broker.receive(group, most=2)] == [1, 1]
    assert group.cursors[0].unacknowledged[0].history == ()


def test_whoever_gives_back_may_say_how_often_it_was_tried(broker: Broker, group: Group) -> None:
    for count in (7, 0, COUNT_MAX, 3):
        broker.receive(group, most=1)
        with broker.turn() as core:
            assert core.groups.give_back_as(group, 0, 0, count)
            assert not core.groups.give_back_as(group, 0, 0, 1), "nobody has it any more"
        assert in_flight(group) == {0: (None, count)}
    broker.receive(group, most=1)
    assert broker.fail(group, 0) == 1
    with broker.turn() as core:
        assert not core.groups.give_back_as(group, 0, 77, 1)
    assert in_flight(group) == {0: (None, 4)}


def test_only_what_somebody_has_can_be_given_back_or_fail(broker: Broker, group: Group) -> None:
    broker.receive(group, most=2)
    broker.acknowledge(group, 0)
    assert broker.fail(group, 0, 1, 2, delay_ms=SECOND_MS) == 1
    with broker.turn() as core:
        assert core.groups.give_back(group, 0, [0, 1, 2]) == 0
        assert not core.groups.reject(group, 0, 1, "no")
    assert broker.fail(group, 1) == 0
    assert in_flight(group) == {1: (None, 1)}


def test_without_a_policy_a_failed_message_comes_again_at_once_for_ever(broker: Broker, group: Group) -> None:
    for count in range(1, 30):
        ((_, record, seen),) = broker.receive(group, most=1)
        assert (record[0], seen) == (0, count)
        broker.fail(group, 0, reason=f"failure {count}")
    history = group.cursors[0].unacknowledged[0].history
    assert [attempt[3] for attempt in history] == [f"failure {count}" for count in range(14, 30)]
    assert len(history) == HISTORY_MAX


def test_a_reason_is_cut_to_its_limit(broker: Broker, group: Group) -> None:
    broker.receive(group, most=1)
    broker.fail(group, 0, reason="x" * (REASON_CHARACTERS_MAX + 1))
    assert group.cursors[0].unacknowledged[0].history == ((NOW_MS, "m", NOW_MS, "x" * REASON_CHARACTERS_MAX),)


def test_a_failure_with_a_delay_comes_again_exactly_then(broker: Broker, group: Group) -> None:
    """C9: negative acknowledgement with delay."""
    broker.acknowledge(group, *[record[0] for _, record, _ in broker.receive(group) if record[0]])
    broker.fail(group, 0, delay_ms=1500)
    broker.pass_ms(1499)
    assert broker.bodies(group) == []
    broker.now_ms += 1
    assert broker.receive(group)[0][2] == 2


def test_the_tick_says_when_the_next_retry_is_due(broker: Broker, group: Group) -> None:
    broker.receive(group)
    broker.fail(group, 0, delay_ms=700)
    broker.fail(group, 1, delay_ms=300)
    assert broker.core.tick(broker.now_ms) == broker.now_ms + 300


def test_somebody_who_waits_gets_a_retry_the_moment_it_is_due(broker: Broker, group: Group) -> None:
    broker.receive(group)
    broker.fail(group, 3, delay_ms=SECOND_MS)
    answers = Answers(broker, group)
    with broker.turn():
        answers.ask("a")
    broker.pass_ms(SECOND_MS - 1)
    assert answers.told == {}
    broker.pass_ms(1)
    assert answers.told == {"a": [b"3"]}


@pytest.mark.parametrize("delay_ms", [-1, DURATION_MS_MAX + 1, 1 << 70])
def test_a_delay_that_cannot_be_is_refused_and_nothing_changes(broker: Broker, group: Group, delay_ms: int) -> None:
    broker.receive(group, most=1)
    before = state(broker.core)
    with broker.turn() as core, pytest.raises(InvalidArgument, match="delay"):
        core.groups.fail(group, 0, [0], "it broke", delay_ms)
    assert state(broker.core) == before


def test_a_clock_that_goes_back_delays_a_retry_and_loses_nothing(broker: Broker, group: Group) -> None:
    broker.receive(group)
    broker.acknowledge(group, 1, 2, 3, 4, 5)
    broker.fail(group, 0, delay_ms=SECOND_MS)
    broker.pass_ms(-DAY_MS)
    assert broker.bodies(group) == []
    broker.pass_ms(DAY_MS + SECOND_MS)
    assert broker.bodies(group) == [b"0"]


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_retry_that_waits_survives_a_restart_with_its_time(local: Broker, how: str) -> None:
    local.topic()
    local.send(b"0")
    group = local.group()
    local.receive(group)
    local.fail(group, 0, delay_ms=MINUTE_MS)
    local.pass_ms(SECOND_MS)
    local.restart(how)
    group = local.core.groups.get("t", "g")
    local.pass_ms(MINUTE_MS - SECOND_MS - 1)
    assert local.bodies(group) == []
    local.now_ms += 1
    assert [count for _, _, count in local.receive(group)] == [2]


# Leases with a deadline


def test_a_lease_of_a_fixed_time_ends_exactly_then(broker: Broker) -> None:
    broker.topic()
    broker.send(b"0", b"1")
    group = broker.group(lease_ms=5_000)
    broker.receive(group, "a")
    broker.acknowledge(group, 1)
    broker.pass_ms(4_999)
    assert in_flight(group) == {0: ("a", 1)}
    broker.pass_ms(1)
    assert in_flight(group) == {0: (None, 1)}
    assert group.cursors[0].unacknowledged[0].history == ((NOW_MS, "a", NOW_MS + 5_000, "not acknowledged in time"),)
    assert broker.bodies(group, "b") == [b"0"]


def test_a_lease_begins_anew_with_each_delivery(broker: Broker) -> None:
    broker.topic()
    broker.send(b"0")
    group = broker.group(lease_ms=5_000)
    broker.receive(group, "a")
    broker.pass_ms(4_000)
    with broker.turn() as core:
        core.claims.claim(group, 0, [0], "b")
    broker.pass_ms(4_999)
    assert in_flight(group) == {0: ("b", 2)}
    broker.pass_ms(1)
    assert in_flight(group) == {0: (None, 2)}


def test_without_a_deadline_a_lease_lasts_as_long_as_its_member(broker: Broker, group: Group) -> None:
    broker.receive(group, most=1)
    broker.pass_ms(365 * DAY_MS)
    assert in_flight(group) == {0: ("m", 1)}


def test_the_deadline_of_a_lease_survives_a_restart(local: Broker) -> None:
    local.topic()
    local.send(b"0")
    group = local.group(lease_ms=5_000)
    local.receive(group, "a")
    local.pass_ms(4_000)
    local.restart()
    group = local.core.groups.get("t", "g")
    assert in_flight(group) == {0: ("a", 1)}
    local.pass_ms(1_000)
    assert in_flight(group) == {0: (None, 1)}


def test_deliveries_that_are_done_do_not_wait_in_memory_for_the_end_of_their_leases() -> None:
    broker = in_memory()
    broker.topic()
    group = broker.group(lease_ms=HOUR_MS)
    broker.send(*[b""] * 1_001)
    broker.receive(group, most=1)
    for offset in range(1, 1_001):
        broker.receive(group, most=1)
        broker.acknowledge(group, offset)
    assert len(broker.core.groups._leases) < 200
    broker.pass_ms(HOUR_MS)
    assert in_flight(group) == {0: (None, 1)}


def test_nor_do_failed_ones_that_were_claimed_wait_for_their_next_attempt() -> None:
    broker = in_memory()
    broker.topic()
    group = broker.group(policy=Backoff(initial_delay_ms=HOUR_MS, max_redeliveries=-1))
    broker.send(b"0", b"1")
    broker.receive(group)
    broker.fail(group, 0)
    for _ in range(1_000):
        broker.fail(group, 1)
        with broker.turn() as core:
            core.claims.claim(group, 0, [1], "m")
    assert len(broker.core.groups._retries) < 200
    broker.pass_ms(HOUR_MS)
    assert [offset for _, (offset, *_), _ in broker.receive(group)] == [0]


# Seeking


def test_seeking_back_hands_out_again_and_forgets_what_was_in_flight(broker: Broker, group: Group) -> None:
    """A6, C15"""
    broker.receive(group)
    broker.acknowledge(group, 0, 1, 2)
    with broker.turn() as core:
        core.groups.seek(group, 0, 1)
    assert (group.lag, in_flight(group), group.cursors[0].low) == (5, {}, 1)
    assert not group.members["m"].held
    assert [(record[3], count) for _, record, count in broker.receive(group, most=2)] == [(b"1", 1), (b"2", 1)]


def test_seeking_ahead_skips(broker: Broker, group: Group) -> None:
    """C15: skipping ahead"""
    broker.receive(group, most=2)
    broker.fail(group, 0, delay_ms=SECOND_MS)
    broker.fail(group, 1)
    with broker.turn() as core:
        core.groups.seek(group, 0, 5)
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group) == [b"5"]
    with broker.turn() as core:
        core.groups.seek(group, 0, 6)
    assert group.lag == 0


def test_a_timer_of_before_a_seek_does_not_touch_what_is_handed_out_after_it(broker: Broker, group: Group) -> None:
    broker.receive(group, most=1)
    broker.fail(group, 0, delay_ms=SECOND_MS)
    with broker.turn() as core:
        core.groups.seek(group, 0, 0)
    broker.receive(group, "b", most=1)
    broker.fail(group, 0, delay_ms=2 * SECOND_MS)
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group, most=1) == [b"1"]
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group, most=1) == [b"0"]


@pytest.mark.parametrize("offset", [-1, 0, 7])
def test_a_seek_must_stay_within_the_partition(broker: Broker, group: Group, offset: int) -> None:
    topic = broker.core.topics.get("t")
    with broker.turn() as core:
        core.topics.trim(topic, topic.partitions[0], 1)
        with pytest.raises(InvalidArgument, match="offsets 1 to 6"):
            core.groups.seek(group, 0, offset)


def test_somebody_who_waits_is_served_after_a_seek(broker: Broker, group: Group) -> None:
    broker.acknowledge(group, *[record[0] for _, record, _ in broker.receive(group)])
    answers = Answers(broker, group)
    with broker.turn():
        answers.ask("a")
    with broker.turn() as core:
        core.groups.seek(group, 0, 4)
    assert answers.told == {"a": [b"4"]}


# Settings


@pytest.mark.parametrize(
    "policy", [None, Immediate(3), Ladder((10, 20)), Backoff(multiplier=1.5, exponential=True)], ids=repr
)
def test_settings_of_a_group_survive_a_restart(local: Broker, policy: Ladder | Backoff | Immediate | None) -> None:
    """C11"""
    local.topic()
    local.group(policy=policy, dead_topic="graves", lease_ms=5)
    local.restart()
    found = local.core.groups.get("t", "g")
    assert found.policy == policy
    assert (found.config.dead_topic, found.config.lease_ms) == ("graves", 5)


def test_altered_settings_hold_from_then_on(local: Broker) -> None:
    local.topic()
    local.send(b"0")
    group = local.group()
    local.receive(group)
    with local.turn() as core:
        core.groups.alter(group, GroupConfig(policy=Ladder((SECOND_MS,)).to_entry()))
    local.fail(group, 0)
    assert local.bodies(group) == []
    local.restart()
    local.pass_ms(SECOND_MS)
    group = local.core.groups.get("t", "g")
    assert local.bodies(group) == [b"0"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"policy": ["dice"]}, "no such redelivery policy"),
        ({"policy": ["ladder", [-1]]}, "a step"),
        ({"policy": ["ladder"]}, "policy"),
        ({"lease_ms": -1}, "lease_ms"),
        ({"lease_ms": DURATION_MS_MAX + 1}, "lease_ms"),
        ({"lease_ms": "long"}, "lease_ms"),
        ({"dead_topic": ""}, "topic name"),
        ({"dead_topic": "a\nb"}, "topic name"),
        ({"dead_topic": "__schedule"}, "OneMQ's own"),
        ({"dead_topic": "t"}, "its own topic"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_settings_that_make_no_sense_are_refused_and_nothing_changes(
    broker: Broker, settings: dict[str, object], complaint: str
) -> None:
    broker.topic()
    group = broker.group(policy=Immediate(2))
    before = state(broker.core)
    with broker.turn() as core:
        with pytest.raises(InvalidArgument, match=complaint):
            core.create_group("t", "h", FIRST, **settings)
        if complaint != "colour" and settings.get("lease_ms") != "long":  # no such struct can be made
            with pytest.raises(InvalidArgument, match=complaint):
                core.groups.alter(group, GroupConfig(**settings))  # type: ignore[arg-type]
    assert state(broker.core) == before
    assert group.policy == Immediate(2)


# Groups that go


def test_a_group_that_is_deleted_is_gone_with_its_position(broker: Broker, group: Group) -> None:
    broker.receive(group)
    broker.acknowledge(group, 0, 1)
    with broker.turn() as core:
        core.groups.delete(group)
    with pytest.raises(NotFound):
        broker.core.groups.get("t", "g")
    assert len(broker.bodies(broker.group())) == 6


def test_timers_of_a_group_that_is_gone_do_nothing(broker: Broker) -> None:
    broker.topic()
    broker.send(b"0", b"1")
    group = broker.group(lease_ms=2_000, policy=Immediate(2))
    broker.receive(group)
    broker.fail(group, 0, delay_ms=SECOND_MS)
    with broker.turn() as core:
        core.groups.delete(group)
    again = broker.group()
    broker.receive(again, "b", most=1)
    broker.pass_ms(SECOND_MS)
    broker.pass_ms(SECOND_MS)
    assert in_flight(again) == {0: ("b", 1)}
    assert broker.deaths() == []


def test_those_who_wait_are_told_when_their_group_goes(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    answers = Answers(broker, group)
    with broker.turn() as core:
        answers.ask("a")
        answers.ask("b")
    with broker.turn() as core:
        core.groups.delete(group)
    assert answers.told == {"a": [], "b": []}
    broker.pass_ms(2 * MINUTE_MS)


def test_whoever_asks_again_when_told_that_the_group_is_gone_gets_an_error_and_not_a_loop(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    errors: list[str] = []

    def ask_again(_: object) -> None:
        try:
            broker.core.receiving.receive(group, "a", 1, ask_again, broker.now_ms + MINUTE_MS)
        except NotFound as error:
            errors.append(error.text)

    with broker.turn() as core:
        core.receiving.receive(group, "a", 1, ask_again, broker.now_ms + MINUTE_MS)
    with broker.turn() as core:
        core.groups.delete(group)
    assert errors == ["topic 't' has no group 'g' any more"]


@pytest.mark.parametrize("whole_topic", [False, True])
def test_a_session_that_still_holds_a_group_that_is_gone_gets_an_error_for_every_call(
    broker: Broker, group: Group, whole_topic: bool
) -> None:
    broker.receive(group, most=2)
    with broker.turn() as core:
        if whole_topic:
            core.topics.delete("t")
        else:
            core.groups.delete(group)
            core.create_group("t", "g", FIRST)
    before = state(broker.core)
    with broker.turn() as core:
        groups = core.groups
        for call in (
            lambda: groups.acknowledge(group, 0, [0]),
            lambda: groups.fail(group, 0, [0], "it broke"),
            lambda: groups.give_back(group, 0, [0]),
            lambda: groups.reject(group, 0, 0, "bad"),
            lambda: core.claims.claim(group, 0, [0], "n"),
            lambda: groups.seek(group, 0, 0),
            lambda: groups.join(group, "n", leased=True),
            lambda: groups.leave(group, "m"),
            lambda: groups.alter(group, GroupConfig()),
            lambda: groups.delete(group),
            lambda: core.receiving.receive(group, "m", 1, lambda handed: None),
            lambda: core.receiving.receive(group, "m", 1, lambda handed: None, broker.now_ms + SECOND_MS),
        ):
            with pytest.raises(NotFound, match="any more"):
                call()
    assert state(broker.core) == before


def test_a_reason_that_is_not_text_harms_nobody(broker: Broker, group: Group) -> None:
    """It may come from bytes that are not UTF-8; the log keeps text."""
    reason = b"caf\xe9".decode("utf-8", "surrogateescape")
    broker.receive(group, "a", most=1)
    broker.receive(group, "b", most=1)
    broker.receive(group, "c", most=1)
    broker.fail(group, 0, reason=reason)
    with broker.turn() as core:
        core.groups.leave(group, "b", reason + "x" * REASON_CHARACTERS_MAX)
        core.groups.reject(group, 0, 2, reason)
    history = [each.history[0][3] for each in group.cursors[0].unacknowledged.values()]
    assert history == ["caf?", ("caf?" + "x" * REASON_CHARACTERS_MAX)[:REASON_CHARACTERS_MAX]]
    assert [death.reason for death in broker.deaths() if death] == ["caf?"]
