"""The synchronous face: the same client on a loop of its own, in a thread.

Calls block until they are done, and may come from any thread. Handlers run in threads, one for each at work.
"""

from onemq.client.sync.client import Client, connect

__all__ = ["Client", "connect"]
