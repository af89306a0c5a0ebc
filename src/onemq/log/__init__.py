"""The durable log: the only code that opens files."""

from onemq import native

native.use()
