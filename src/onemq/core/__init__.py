"""The broker without I/O, clock or randomness."""

from onemq import native

native.use()
