"""The Redis protocol, RESP2 and RESP3.

In reading order: shape.py and codec.py (bytes to requests), replies.py (replies to bytes), command.py (a row of
the command table), the families of commands, commands.py (the table), service.py (what all sessions share),
session.py (one connection).

Commands on keys: keys.py, expiry.py, objects.py, strings.py, lists.py, hashes.py, sets.py, sorted_sets.py,
score_ranges.py, combining.py, scanning.py, and blocking.py over blocked.py (who waits). What COMMAND tells about them
stands in facts.py; runs.py executes pipelines of one command at once, and crowd.py what many
connections send in one turn, where it is alike.

The session and the server: connection.py, client.py, transactions.py, pubsub.py, pause.py, and modes.py, the tables
that a session works with while it queues, listens or is paused; introspection.py over key_specs.py, configuration.py,
info.py, and administration.py with footprint.py (MEMORY USAGE).

Commands on streams: streams/, a package of its own. Scripts that are known: scripts.py.

OneMQ's own commands: mq/, a package of its own.

A new family is one module with its rows in `COMMANDS`, and one line in commands.py.
"""
