"""Groups of Kafka clients: who reads what, and how far they are.

Membership is state of this protocol, in memory: after a restart members join again. It is pure logic; time is given in
(`alarms.py`). Offsets are the core's: the group `g` of a Kafka client on the topic `t` is the group `g` of that topic
for everybody else (`core/marking.py`).

Read in this order: `alarms.py`, `member.py`, `roster.py`, `sessions.py`, `classic.py` (one group);
`catalog.py`, `consumer_member.py`, `consumer.py` (one for which the broker shares out); `coordinator.py` (all of them);
then the handlers: `membership.py`, `offsets.py`, `admin.py`.
"""
