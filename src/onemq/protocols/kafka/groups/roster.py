"""The roster of a classic group: its members, who of them leads, and the protocol on which they can agree."""

from collections import Counter

from onemq.limits import KAFKA_GROUP_MEMBERS_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.member import Join, Member


class Roster:
    """The members of one group."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        """By their ids."""
        self.instances: dict[str, Member] = {}
        """The static ones by their names."""
        self.leader: str | None = None

    def get(self, member_id: str, instance_id: str | None) -> Member:
        """Raises `Refused` if that is no member, or a static one that another has taken the place of."""
        if instance_id is not None and self.named(instance_id).id != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def named(self, instance_id: str) -> Member:
        """The static member of that name. Raises `Refused`."""
        named = self.instances.get(instance_id)
        if named is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return named

    def check_room(self) -> None:
        """Raises `Refused` if there can be no more members."""
        if len(self.members) >= KAFKA_GROUP_MEMBERS_MAX:
            raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED)

    def check_protocols(self, join: Join, protocol_type: str | None) -> None:
        """Raises `Refused` if the members, who are of a type, could not agree with somebody on a protocol."""
        kind, protocols = join.request.protocol_type, join.request.protocols
        if not kind or not protocols:
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self.members:
            common = self._common_protocols()
            if kind != protocol_type or not any(each.name in common for each in protocols):
                raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def add(self, member: Member) -> None:
        """One more; the first one leads."""
        self.members[member.id] = member
        if member.instance_id is not None:
            self.instances[member.instance_id] = member
        self.leader = self.leader or member.id

    def change_id(self, member: Member, new_id: str) -> None:
        """A static member has another id from now on."""
        del self.members[member.id]
        if self.leader == member.id:
            self.leader = new_id
        member.id = new_id
        self.members[new_id] = member

    def remove(self, member: Member) -> None:
        """One less; if it led, another one does."""
        self.members.pop(member.id, None)
        if member.instance_id is not None and self.instances.get(member.instance_id) is member:
            del self.instances[member.instance_id]
        if self.leader == member.id:
            self.leader = next(iter(self.members), None)

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the slowest member may take to join again."""
        return max((each.rebalance_timeout_ms for each in self.members.values()), default=0)

    def chosen_protocol(self) -> str:
        """What most members like best of that which all of them know."""
        common = self._common_protocols()
        votes = Counter(
            next(each.name for each in member.protocols if each.name in common) for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    def _common_protocols(self) -> set[str]:
        names = [{each.name for each in member.protocols} for member in self.members.values()]
        return set.intersection(*names)
