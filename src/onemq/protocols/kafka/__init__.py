"""The Kafka protocol. In reading order:

schema.py, schemas/     what messages look like, as data       codec.py     bytes to messages and back
framing.py              pieces of bytes to whole requests      session.py   one connection
call.py                 a request on its way to its answer     apis.py      the table: versions and handlers
service.py              what all connections share             errors.py    Kafka's error codes
"""
