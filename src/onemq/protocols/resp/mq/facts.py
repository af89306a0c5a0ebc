# ruff: noqa: E501
"""What COMMAND and MQ.HELP tell about the MQ.* commands: a line for each, as in facts.py of the other commands.

    [chapter]
    name ; arity ; flags ; place of the topic ; usage ; summary ; example

Arity counts the name, and the subcommand if there is one. A name with a blank is a subcommand.
"""

FACTS = """
[Topics]
topic create ; -3 ; write denyoom ; 2 ; topic [PARTITIONS partitions:integer] [KIND kind=(STREAM | QUEUE)] [FLUSH flush=(SYNC | ASYNC)] [RETENTION duration] [RETENTIONBYTES bytes] [COMPACT compact=(YES | NO)] [MAXBYTES bytes] [EXPIRES duration] [EXPIRED expired=(DROP | DEAD)] [TRACE trace=(YES | NO)] [IFNOTEXISTS] ; Make a topic ; MQ.TOPIC CREATE orders PARTITIONS 4 RETENTION 7d
topic alter ; -4 ; write denyoom ; 2 ; topic [PARTITIONS partitions:integer] [KIND kind=(STREAM | QUEUE)] [FLUSH flush=(SYNC | ASYNC)] [RETENTION duration] [RETENTIONBYTES bytes] [COMPACT compact=(YES | NO)] [MAXBYTES bytes] [EXPIRES duration] [EXPIRED expired=(DROP | DEAD)] [TRACE trace=(YES | NO)] ; Change the settings of a topic, or give it more partitions ; MQ.TOPIC ALTER orders RETENTION NONE
topic info ; 3 ; readonly ; 2 ; topic ; Show the settings of a topic, what it holds and who reads it ; MQ.TOPIC INFO orders
topic list ; -2 ; readonly ; 0 ; [MATCH pattern] ; List the topics ; MQ.TOPIC LIST MATCH order*
topic delete ; -3 ; write ; 2 ; topic ... ; Delete topics with their messages and groups ; MQ.TOPIC DELETE orders
[Sending]
send ; -3 ; write denyoom fast ; 1 ; topic body [KEY message-key] [TAG tag] [HEADER header={name value} ...] [ORDER order-key] [PARTITION partition:integer] [PRIORITY priority:integer] [when=(DELAY delay | LEVEL level:integer | AT time)] [repeat=(EVERY period | CRON expression)] [ZONE zone] [TIMES times:integer] [EXPIRES duration] [TRANSIENT] [REPLYTO reply-topic] [CORRELATION id] [TYPE type=(TEXT | BYTES | JSON)] [PRODUCER sequence={id:integer epoch:integer number:integer}] [IDEMPOTENCY idempotency-key] [WITHIN duration] [TRANSACTION transaction] [GROUP producer-group] [CHECKAFTER duration] ; Send a message, now or later ; MQ.SEND orders "{\\"orderno\\": 10001}" KEY 10001 TAG created DELAY 10s
sendmany ; -4 ; write denyoom fast ; 1 ; topic [TAG tag] [KEY message-key] [PARTITION partition:integer] bodies={BODIES body ...} ; Send several messages that are alike but for their bodies ; MQ.SENDMANY orders TAG created BODIES one two three
append ; -4 ; write denyoom fast ; 1 ; topic partition:integer batch [PRODUCER sequence={id:integer epoch:integer number:integer}] [TRANSACTION transaction] [GROUP producer-group] [BATCH place:integer] [CHECKAFTER duration] ; Send a batch of messages that the client sealed ; MQ.APPEND orders 0 <batch>
producer ; -1 ; write ; 0 ; [name] ; Get the id and epoch under which messages are stored only once ; MQ.PRODUCER shop
[Receiving]
receive ; -3 ; write blocking ; 1 ; topic group [MEMBER member] [COUNT count:integer] [WAIT duration] [PARTITION partition:integer] [AUTOACK] ; Receive messages of a group, or wait for them ; MQ.RECEIVE orders points COUNT 10 WAIT 5s
subscribe ; -3 ; write no_multi ; 1 ; topic group [MEMBER member] [CREDIT credit:integer] [AUTOACK] [ROOM room] [PARTITIONS partition:integer ...] ; Have messages of a group pushed as they come (RESP3) ; MQ.SUBSCRIBE orders points CREDIT 100
credit ; 3 ; write fast ; 0 ; subscription:integer credit:integer ; Set how many messages of a subscription may be unacknowledged; 0 pauses it ; MQ.CREDIT 1 500
unsubscribe ; -1 ; write ; 0 ; [subscription:integer] ; End one subscription of this connection, or all ; MQ.UNSUBSCRIBE 1
ack ; -4 ; write fast ; 1 ; topic group receipt ... ; Acknowledge messages: they are done ; MQ.ACK orders points 0:42 0:50-99
nack ; -4 ; write fast ; 1 ; topic group receipt ... [DELAY duration] [REASON text] ; Messages failed: again after the group's waiting time, or this one ; MQ.NACK orders points 0:42 DELAY 1m REASON "no stock"
reject ; -4 ; write ; 1 ; topic group receipt ... [REASON text] ; Messages failed for good: they become dead letters ; MQ.REJECT orders points 0:42 REASON "no such customer"
release ; -4 ; write fast ; 1 ; topic group receipt ... ; Messages were not tried: others get them at once, and it does not count ; MQ.RELEASE orders points 0:42
extend ; -4 ; write fast ; 1 ; topic group receipt ... ; Messages need more time: their lease begins anew ; MQ.EXTEND orders points 0:42
pending ; -3 ; readonly ; 1 ; topic group [MEMBER member] [COUNT count:integer] ; Show what was handed out and is not acknowledged ; MQ.PENDING orders points
claim ; -6 ; write ; 1 ; topic group member IDLE duration [COUNT count:integer] [receipt ...] ; Take over messages that others have had for too long ; MQ.CLAIM orders points me IDLE 5m COUNT 10
[Transactions]
tx commit ; -3 ; write blocking ; 0 ; transaction ... [UNIT unit={name number:integer}] ; Let the messages of transactions be seen, all or none; those of a numbered unit once ; MQ.TX COMMIT order-10001
tx rollback ; -3 ; write ; 0 ; transactions=(transaction ... | PREFIX prefix) ; Drop the messages of transactions ; MQ.TX ROLLBACK order-10001
tx unit ; 3 ; readonly fast ; 0 ; unit ; Show the highest number of a unit that is committed ; MQ.TX UNIT nightly-load
tx unknown ; 3 ; write fast ; 0 ; transaction ; Answer a question about a transaction: not known yet, ask again ; MQ.TX UNKNOWN order-10001
tx listen ; 3 ; noscript ; 0 ; producer-group ; Be asked what became of transactions that nobody ended (RESP3) ; MQ.TX LISTEN shop
tx unlisten ; 3 ; noscript ; 0 ; producer-group ; Be asked no more ; MQ.TX UNLISTEN shop
tx list ; -2 ; readonly ; 0 ; [GROUP producer-group] ; List the open transactions ; MQ.TX LIST GROUP shop
[Groups]
group create ; -4 ; write ; 2 ; topic group [FROM start=(FIRST | LAST | OFFSET offset:integer | TIME time)] [RETRY retry=(LADDER | backoff={BACKOFF first factor:double most times} | none={NONE [times:integer]})] [DEAD dead-topic] [LEASE duration] [FILTER filter] [ORDER order=(NONE | PARTITION | KEY)] [ASSIGN assign=(NONE | AVERAGE | CIRCLE | CONFIG | ROOM | HASH)] [ONCE once=(KEY | ID | HEADER header | NONE)] [WITHIN duration] [IFNOTEXISTS] ; Make a group ; MQ.GROUP CREATE orders points FROM FIRST RETRY BACKOFF 1s 2 1m 6
group alter ; -5 ; write ; 2 ; topic group [RETRY retry=(LADDER | backoff={BACKOFF first factor:double most times} | none={NONE [times:integer]})] [DEAD dead-topic] [LEASE duration] [FILTER filter] [ORDER order=(NONE | PARTITION | KEY)] [ASSIGN assign=(NONE | AVERAGE | CIRCLE | CONFIG | ROOM | HASH)] [ONCE once=(KEY | ID | HEADER header | NONE)] [WITHIN duration] ; Change the settings of a group ; MQ.GROUP ALTER orders points LEASE 30s
group info ; 4 ; readonly ; 2 ; topic group ; Show the settings of a group, how far it is behind, and who its members are ; MQ.GROUP INFO orders points
group list ; 3 ; readonly ; 2 ; topic ; List the groups of a topic ; MQ.GROUP LIST orders
group backlog ; -5 ; readonly ; 2 ; topic group partition:integer [FROM offset:integer] ; Show what a group has not acknowledged in a partition, as ranges of offsets ; MQ.GROUP BACKLOG orders points 0
group seek ; -5 ; write ; 2 ; topic group start=(FIRST | LAST | OFFSET offset:integer | TIME time) [PARTITION partition:integer] ; Make a group go on elsewhere ; MQ.GROUP SEEK orders points TIME 2026-11-16T08:00:00Z
group mark ; -6 ; write ; 2 ; topic group position={partition:integer offset:integer} ... ; Tell how far a reader is that keeps its own place: what lies before is acknowledged ; MQ.GROUP MARK orders archive 0 42
group reset ; 4 ; write ; 2 ; topic group ; Make a group begin with the first message again ; MQ.GROUP RESET orders points
group delete ; 4 ; write ; 2 ; topic group ; Delete a group ; MQ.GROUP DELETE orders points
[Messages that are due later]
schedule list ; -2 ; readonly ; 0 ; [TOPIC topic-name] [COUNT count:integer] [AFTER cursor] ; List messages that are due later, the next one first ; MQ.SCHEDULE LIST TOPIC orders
schedule get ; 3 ; readonly fast ; 0 ; id:integer ; Show one of them ; MQ.SCHEDULE GET 42
schedule cancel ; -3 ; write fast ; 0 ; id:integer ... ; Cancel them ; MQ.SCHEDULE CANCEL 42
schedule move ; -5 ; write fast ; 0 ; id:integer when=(DELAY delay | AT time) ; Set another time ; MQ.SCHEDULE MOVE 42 DELAY 1h
[Dead letters]
dead list ; -3 ; readonly ; 2 ; topic [GROUP group] [FILTER filter] [COUNT count:integer] ; Show the messages of a topic that failed for good, and why ; MQ.DEAD LIST orders GROUP points
dead get ; 4 ; readonly ; 2 ; topic id ; Show one of them ; MQ.DEAD GET orders 1-0-2a
dead replay ; -3 ; write denyoom ; 2 ; topic [GROUP group] [FILTER filter] [COUNT count:integer] [DRYRUN] [ids={IDS id ...}] ; Send dead letters again to the topic they came from ; MQ.DEAD REPLAY orders GROUP points
dead purge ; -3 ; write ; 2 ; topic [GROUP group] [FILTER filter] [COUNT count:integer] [ids={IDS id ...}] ; Remove dead letters for good ; MQ.DEAD PURGE orders
[Reading without a group]
read ; -2 ; readonly blocking ; 1 ; topic [PARTITION partition:integer] [place=(OFFSET offset:integer | from={FROM start=(FIRST | LAST | TIME time)})] [COUNT count:integer] [WAIT duration] [FILTER filter] ; Read messages without changing anything ; MQ.READ orders FROM FIRST COUNT 5
search ; -2 ; readonly ; 1 ; topic [ID id] [KEY message-key] [FROM time] [TO time] [FILTER filter] [PARTITION partition:integer] [COUNT count:integer] [NEWEST] ; Find messages by id, key, time and filter ; MQ.SEARCH orders KEY 10001 FROM 2026-11-16T08:00:00Z FILTER "tag = 'created'"
trace ; 3 ; readonly ; 1 ; topic id ; Show what happened to a message, and how it is with it now ; MQ.TRACE orders 1-0-2a
fetch ; -4 ; readonly blocking ; 1 ; topic partition:integer offset:integer [UNTIL offset:integer] [MAXBYTES bytes] [WAIT duration] [FILTER filter] ; Read whole batches of messages, all or those that a filter selects ; MQ.FETCH orders 0 0 WAIT 1s
offsets ; -2 ; readonly fast ; 1 ; of=(one={topic [TIME time]} | many={[TIME time] TOPICS topic-name ...}) ; Show the first offset and the end of each partition of one topic or many, and the offset of a time ; MQ.OFFSETS orders TIME 2026-11-16T08:00:00Z
[Help]
help ; -1 ; loading stale ; 0 ; [command] ; Show the MQ.* commands, or how one of them is used ; MQ.HELP SEND
"""
