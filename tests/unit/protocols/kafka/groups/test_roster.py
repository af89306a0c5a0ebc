"""The roster: who is a member, who leads, and on what members can agree."""

import pytest

from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.member import Member
from onemq.protocols.kafka.groups.roster import Roster
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequestProtocol


def roster(*ids: str) -> Roster:
    made = Roster()
    for id in ids:
        made.add(Member(id, f"static {id}"))
    return made


def code(made: Roster, member_id: str, instance_id: str | None) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        made.get(member_id, instance_id)
    return refused.value.error


def test_the_first_member_leads_until_it_goes() -> None:
    made = roster("a", "b", "c")
    assert made.leader == "a"
    made.remove(made.members["a"])
    assert (made.leader, list(made.members), list(made.instances)) == ("b", ["b", "c"], ["static b", "static c"])
    made.remove(made.members["b"])
    made.remove(made.members["c"])
    assert (made.leader, made.members, made.instances) == (None, {}, {})


def test_a_static_member_that_is_back_keeps_its_name_and_its_lead() -> None:
    made = roster("a", "b")
    made.change_id(made.named("static a"), "new")
    assert made.leader == "new"
    assert made.get("new", "static a") is made.named("static a")
    assert code(made, "a", "static a") is ErrorCode.FENCED_INSTANCE_ID
    assert code(made, "a", None) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code(made, "b", "static c") is ErrorCode.UNKNOWN_MEMBER_ID


def test_members_choose_what_most_like_best_of_that_which_all_know() -> None:
    made = roster("a", "b", "c")
    for member, likes in zip(made.members.values(), (["x", "y", "z"], ["z", "y"], ["y", "z"]), strict=True):
        member.protocols = [JoinGroupRequestProtocol(name, b"") for name in likes]
    assert made.chosen_protocol() == "y"


def test_the_slowest_member_sets_the_time_of_a_rebalance() -> None:
    made = roster("a", "b")
    made.members["b"].rebalance_timeout_ms = 500
    assert made.rebalance_timeout_ms == 500
    assert roster().rebalance_timeout_ms == 0
