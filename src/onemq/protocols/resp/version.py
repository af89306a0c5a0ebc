"""Which Redis we answer like."""

REDIS_VERSION = "7.0.15"
"""Clients look at it to see what they may use."""
