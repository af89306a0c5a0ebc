"""Listeners, connections and turns."""

from onemq import native

native.use()
