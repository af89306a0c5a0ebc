"""Every limit by name, in one place.

Too large is answered, not buffered. A limit that a user may want to move is a setting
(see config.py); what stands here is what no setting moves.
"""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB

# All protocols.
BACKLOG_BYTES_MAX = 1024 * MIB
"""Incomplete requests and queued transactions of all connections together; one that would hold more is refused."""
BACKLOG_UNCOUNTED_BYTES = 1 * MIB
"""What each may hold of that without being counted."""

# RESP: what one request may be.
RESP_INLINE_BYTES_MAX = 64 * KIB
"""The longest line of an inline command, and of a length in a request."""
RESP_BULK_BYTES_MAX = 64 * MIB
"""The longest single argument."""
RESP_ARGUMENTS_MAX = 1024 * KIB
"""The most arguments of one request."""
RESP_REQUEST_BYTES_MAX = 256 * MIB
"""All arguments of one request together."""
RESP_LOGIN_ARGUMENTS_MAX = 10
RESP_LOGIN_BULK_BYTES_MAX = 16 * KIB
"""The arguments of a request, and each of them, of a client that has not logged in, where there are users; as in
Redis."""
RESP_LOGIN_REST_MS = 100
"""How long a connection waits for the answer to a wrong password that was compared with a verifier: to find out takes
milliseconds in which nobody else is served."""
RESP_REPLY_BYTES_MAX = 240 * MIB
"""A reply; with what a client may have unsent beside it, less than the `output_bytes_max` of ConnectionLimits."""
RESP_PARKED_BYTES_MAX = 1 * MIB
"""What a client may send ahead while its commands wait; then we stop reading from it."""
RESP_NAME_BYTES_MAX = 1 * KIB
"""The name a client gives itself or its library."""
RESP_TRANSACTION_BYTES_MAX = 256 * MIB
"""The commands queued between MULTI and EXEC together, with about 50 bytes more for each word."""
RESP_NAMES_BYTES_MAX = 64 * MIB
"""The keys that one connection watches, or the channels it listens to, with about 200 bytes more for each; the bytes of
a pattern count 32 times, since it takes so much when it is compiled."""
RESP_LISTENER_BYTES_MAX = 32 * MIB
"""Output that a client with subscriptions has not taken; above it the client is cut off."""
MQ_MEMBERS_MAX = 10_000
"""Members of groups that one connection can be."""
MQ_COUNT_MAX = 10_000
"""Messages that one command asks for."""
MQ_TOPICS_MAX = 10_000
"""Topics that one command asks about."""
MQ_CREDIT_MAX = 1_000_000
"""Messages that a subscription may have unacknowledged."""
MQ_SWEEP_BYTES = 256 * KIB
"""What a command that looks at all messages of a topic reads in one turn."""
MQ_PUSH_MESSAGES_MAX = 512
MQ_PUSH_BYTES = 256 * KIB
"""What one push holds at most, and about how much if messages are large."""

# Kafka: what one request may be.
KAFKA_PRODUCE_BYTES_MAX = 100 * MIB
"""The largest Produce request, as Kafka's own `socket.request.max.bytes`."""
KAFKA_REQUEST_BYTES_MAX = 8 * MIB
"""The largest request of any other kind."""
KAFKA_AHEAD_MS_MAX = 3600 * 1000
"""How far the times of a producer's messages may be ahead of the broker's clock, as Kafka's own
`message.timestamp.after.max.ms`."""
KAFKA_LIST_ELEMENTS_MAX = 100_000
"""Topics, partitions, names and the like in one list of a request: each takes a hundred bytes here, and may have come
as three."""
KAFKA_FETCH_SESSIONS_MAX = 1_000
"""Fetch sessions that are remembered; clients beyond them tell each time what they want."""
KAFKA_FETCH_SESSION_PARTITIONS_MAX = 100_000
"""Partitions in all of them."""
KAFKA_LOGIN_BYTES_MAX = 512 * KIB
"""The largest request of a client that has not logged in, where there are users."""
KAFKA_PARKED_BYTES_MAX = 1 * MIB
"""What a client may send ahead while a request waits for its answer; then we stop reading from it."""

KAFKA_FIRST_FETCH_BYTES_MAX = 128 * KIB
"""What the first fetch of a connection brings, unless one batch is larger. Its client begins to work the sooner."""
KAFKA_SESSIONLESS_FETCH_BYTES_MAX = 3 * MIB
"""What a fetch outside of a session brings, unless one batch is larger. Its client asks for all partitions each time,
also for those that it has enough of, and keeps an answer until it has worked off all of it (docs/benchmarks.md)."""
KAFKA_PAGE_PARTITIONS_MAX = 2_000
"""Partitions that one DescribeTopicPartitions tells of."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What one connection may hold of our memory."""

    output_pause_bytes: int = 256 * KIB
    """Above this much output that the peer has not taken, its commands and its input wait."""
    output_bytes_max: int = 256 * MIB
    """Above this much output that the peer has not taken, the connection is cut off."""


# The network.
CONNECTION_LIMITS = ConnectionLimits()
LISTEN_BACKLOG = 1024
"""Connections that the kernel holds for us before we accept them."""
CLOSE_LINGER_MS = 10_000
"""How long a closed connection may take to fetch the rest of its output."""
STRETCHED_FILES_MAX = 128
"""Files that are kept open for clients who are still to be sent what they hold. Beyond that it is read at once."""
SEGMENT_FILES_MIN = 128
"""Segments that may stay open however few files the process may open."""
RESERVED_FILES = 128 + SEGMENT_FILES_MIN + STRETCHED_FILES_MAX
"""Open files that connections must leave: for the process itself, for a few segments, and for stretches."""

# The clock.
TICK_INTERVAL_MAX_MS = 1_000
"""While anything is due later, the clock is looked at this often: it may jump."""

# Names and messages.
NAME_BYTES_MAX = 249
"""Topic, group and member names, in UTF-8; Kafka's own limit, so that every name fits there."""
PARTITIONS_MAX = 10_000
MESSAGE_BYTES_MAX = 4 * MIB
"""The default of a topic's own `message_bytes_max`."""
MESSAGE_BYTES_CEILING = 64 * MIB
"""What no topic's setting can exceed."""
TOPIC_NOTES_MAX = 64
"""Settings of a protocol's own that a topic keeps."""
TOPIC_NOTE_CHARACTERS_MAX = 1024
"""The value of one of them."""
TURN_BYTES_MAX = 32 * MIB
"""What one turn gathers before the server ends it and begins another."""
RECEIVE_BYTES_MAX = 1 * MIB
"""What one read of the log brings to a receiver, unless one message is larger."""
HANDED_BYTES_MAX = 64 * MIB
"""What one request hands out that takes as much as there is. The batch with which it is reached is given as well."""
LOOKUP_BYTES_MAX = 16 * MIB
"""What is remembered until the end of a turn of messages that were looked up one by one."""
DECODED_BYTES_MAX = 32 * MIB
"""What is kept of large batches that are read in parts."""
FETCH_BYTES_MAX = 32 * MIB
"""What one fetch of whole batches brings, unless one batch is larger."""
HISTORY_MAX = 16
"""Failed deliveries of a message whose reasons are kept."""
REASON_CHARACTERS_MAX = 1024
SCHEDULE_AHEAD_MS_MAX = 100 * 366 * 24 * 3600 * 1000
"""How far ahead a message can be scheduled: a hundred years."""
SERIES_MAX = 100_000
"""Scheduled messages that repeat."""
CRON_CHARACTERS_MAX = 256
FIRE_PER_TICK_MAX = 1_000
"""Timers that one tick works off before others get their turn."""
SOON_MESSAGES_MAX = 100_000
"""Scheduled messages that are due within two seconds and are read ahead of their time."""
SOON_BYTES_MAX = 32 * MIB
"""Their size in memory; what is more is read when it is due."""
SETTLE_ROUNDS_MAX = 1_000
"""How often one turn serves those who send and ask again when they are served, before others get their turn."""
SCREENED_PER_TURN_MAX = 2_000
"""Messages that one turn passes over or holds back in groups with a filter, an order or the like; then others get
their turn."""
UNREADABLE_PER_TURN_MAX = 100
"""Batches that cannot be decoded which one turn passes over in groups; then others get their turn."""
UNREADABLE_BATCHES_MAX = 10_000
"""Batches that cannot be decoded which are counted, and told of once each; further ones are passed over in silence."""
BATCH_MESSAGES_MAX = 1_000_000
"""Messages of one batch that a producer compressed."""
HELD_PER_PARTITION_MAX = 10_000
"""Messages of a partition that a group holds back behind earlier ones of their key; then the group waits there."""
ONCE_KEYS_MAX = 1_000_000
"""Keys of acknowledged messages that a group remembers; beyond it the oldest are forgotten."""
EXPIRED_PER_ROUND_MAX = 1_000
"""Expired messages that one round of housekeeping makes dead letters."""
SENT_ONCE_MS = 3 * 24 * 3600 * 1000
"""How long an idempotency key is remembered unless its sender says otherwise."""
SENT_ONCE_MS_MAX = 366 * 24 * 3600 * 1000
"""How long it can be remembered at most."""
SENT_ONCE_KEYS_MAX = 1_000_000
"""Idempotency keys that a topic remembers; beyond them, those whose time would be up first are forgotten."""
PRODUCER_BATCHES_REMEMBERED = 5
"""Batches of an idempotent producer whose repetition is recognised; as many as Kafka's clients have in flight."""
PRODUCER_EPOCH_MAX = 32_766
"""The last epoch of a producer id: in batches it has 16 bits, and Kafka's clients take no higher one. Then the producer
gets a new id."""
PRODUCERS_MAX = 200_000
"""Idempotent producers that are known; a further one takes the place of those that sent nothing for longest."""
PRODUCER_PLACES_MAX = 1_000_000
"""Partitions in which batches of producers are remembered, of all together; beyond them it is the same."""
PRODUCER_IDLE_MS_MAX = 7 * 24 * 3600 * 1000
"""A producer that sent nothing for so long is forgotten."""

# Filters, search and trace.
FILTER_CHARACTERS_MAX = 4096
"""The text of one filter."""
FILTER_DEPTH_MAX = 64
"""How deep parentheses, signs and arithmetic of a filter may be nested."""
FILTERS_KEPT = 256
"""Compiled filters that are remembered."""
SCANS_MAX = 64
"""Searches and traces under way at a time."""
SCAN_STEP_BYTES = 64 * KIB
"""What one step of a scan reads, unless one batch is larger."""
SCAN_STEPS_PER_TURN = 4
"""Steps of all scans together, before others get their turn."""
SEARCH_COUNT_MAX = 10_000
"""Messages that one search finds."""
SEARCH_BYTES_MAX = 32 * MIB
"""Their bodies together; a search that has found as much ends."""
DAMAGES_TOLD = 16
"""Damaged places that a search tells of."""
TRACE_EVENTS_MAX = 1_000
"""Events that one trace tells of."""

# Transactions of half messages.
TRANSACTION_CHECK_MS = 60 * 1000
"""How long after its last message a transaction is first checked, unless the producer says otherwise, and how long
after that again."""
TRANSACTION_CHECKS_MAX = 15
"""How often somebody is asked before a transaction is rolled back."""
TRANSACTION_UNHEARD_MS_MAX = 3 * 24 * 3600 * 1000
"""How long a transaction waits for somebody who could be asked before it is rolled back."""
TRANSACTION_MESSAGES_MAX = 10_000_000
"""Messages that were added one by one."""
STAGED_BYTES_MAX = 4096 * MIB
"""Whole batches of one transaction together."""
STAGED_RUNS_MAX = 1_000_000
"""Places where whole batches of open transactions lie, all transactions together. Small batches that lie next to each
other and go to the same partition take one place for each MiB."""
COMMIT_TURN_BYTES = 8 * MIB
"""What one turn moves of commits that do not fit into a turn."""
COMMIT_UNITS_MAX = 10_000
"""Units of which the highest committed number is remembered; no further ones are taken then."""
COMMIT_UNIT_MS = 30 * 24 * 3600 * 1000
"""How long it is remembered after the last commit of the unit."""
OWNERS_MAX = 100_000
"""Transactional producers that are known; each is forgotten after PRODUCER_IDLE_MS_MAX, or, when there are so many,
if it did nothing for longest and has no transaction open."""
OWNER_TIMEOUT_MS_MAX = 15 * 60 * 1000
"""The longest time that a transactional producer may ask for; then its transaction is rolled back."""
OWNER_PLACES_MAX = 100_000
"""Partitions, groups and offsets that the transaction of a transactional producer may name."""
TRANSACTIONS_OPEN_MAX = 100_000
TRANSACTIONS_ENDED_MAX = 100_000
"""Ended transactions whose outcome is remembered; the oldest are forgotten first."""
TRANSACTIONS_ENDED_MS = 24 * 3600 * 1000
"""How long it is remembered."""

# Priorities.
LANE_STREAK_MAX = 16
"""Messages that a group gets from higher lanes in a row while lower ones wait; then the oldest of all gets its turn."""
LANE_MESSAGES_MAX = 10_000_000
"""Messages of other than the default priority that a partition knows, 8 bytes each. More are stored, but handed out
like those of the default priority."""
LANE_MESSAGES_KEPT = 10_000
"""So many of them a partition knows although all groups have passed them, for groups that go back or come later."""

# Groups of Kafka clients.
KAFKA_GROUPS_MAX = 10_000
"""Groups that have members, or had some until recently."""
KAFKA_GROUP_MEMBERS_MAX = 1_000
KAFKA_MEMBER_BYTES_MAX = MIB
"""What a member tells the others of itself when it joins."""
KAFKA_SESSION_MS_MIN = 100
KAFKA_SESSION_MS_MAX = 1_800_000
"""Between these a member chooses after how long a silence it is gone."""
KAFKA_GROUP_DELAY_MS = 100
"""How long the first member of an empty group waits for others, so that those that start together begin together."""
KAFKA_GROUP_IDLE_MS = 600_000
"""How long the generation of a group without members is remembered."""
KAFKA_CONSUMER_HEARTBEAT_MS = 1_000
"""How often members of consumer groups (KIP-848) show that they live; also how soon they hear of a rebalance."""
KAFKA_CONSUMER_SESSION_MS = 45_000
"""After how long a silence they are gone."""
KAFKA_REGEX_CHARACTERS_MAX = 1_000
"""An expression for the names of topics."""
KAFKA_REMARK_BYTES_MAX = 4 * KIB
"""What a client says of an offset when it commits it."""
# Share groups of Kafka's clients.
SHARE_MEMBERS_MAX = 1_000
"""Members of a share group."""
SHARE_SESSIONS_MAX = 10_000
"""Share sessions of all members together."""
SHARE_IN_FLIGHT_MAX = 20_000
"""Messages of a topic that a member may have acquired; it gets no more before it has acknowledged some. The last batch
is given whole, so that there may be more."""
SHARE_SETTLED_MAX = 1_000_000
"""Messages that one request may acknowledge."""
PROFILES_MAX = 10_000
"""Names of groups that a protocol keeps settings for."""
PROFILE_BYTES_MAX = 4 * KIB
"""What it keeps for one of them."""
