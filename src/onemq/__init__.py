"""OneMQ: one message queue for Python and data teams."""

__version__ = "0.1.0"
