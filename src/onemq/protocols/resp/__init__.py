"""The Redis protocol, RESP2 and RESP3.

In reading order: codec.py (bytes to requests), replies.py (replies to bytes), command.py (a row of
the command table), the families of commands (connection.py, client.py, introspection.py, info.py),
commands.py (the table), service.py (what all sessions share), session.py (one connection).
A new family is one module with its rows in `COMMANDS`, and one line in commands.py.
"""
