"""What RESP clients keep beside streams: strings, lists, hashes, sets and sorted sets with expiry."""

from onemq.core.keyspace.keyspace import Keyspace

__all__ = ["Keyspace"]
