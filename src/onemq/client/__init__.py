"""The Python SDK: asyncio first, with a synchronous face over the same objects.

In reading order: address, connection, link (a connection that comes back), replies; message, headers, bodies;
receipt, batching, lane, identity, partitioner, producer, transaction; retry, settlements, subscription, ordered,
workers, consumer, broadcast, session, request; admin; client puts it together; sync/ is the other face.
"""
