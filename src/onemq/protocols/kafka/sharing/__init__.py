"""Share groups (KIP-932): single messages are acquired, acknowledged, given back and refused over Kafka's protocol.

A share group is OneMQ's own kind of group, seen from here: the share group `g` of the topics `a` and `b` is the group
`g` of `a` and the group `g` of `b`, the same that `MQ.RECEIVE` and `XREADGROUP` know. To be read in this order:

    settings     what can be set for a share group
    places       the groups of the core behind a share group, and how new ones begin
    members      who is in a share group (ShareGroupHeartbeat)
    sessions     which partitions a member fetches on a connection, with epochs; what it holds goes with them
    settling     what becomes of acquired messages
    fetching     a ShareFetch under way
    handlers     the calls of members
    rows         the rows of their answers
    configs      the settings for administrators
    describing   the calls of administrators
"""
