"""The Python SDK: asyncio first, with a synchronous face over the same objects.

In reading order: address, connection, link (a connection that comes back), replies, times; message, headers, bodies;
outgoing, receipt, route, lane, batching, single, producer, transaction; retry, grouping, consuming, settlements,
subscription, puller, ordered, handler, workers, consumer, broadcast; unit, session, request; once, databases; admin;
hooks, telemetry; client puts it together; sync/ is the other face.
"""
