"""The handlers: a module for each API or family of APIs. A call in, an answer out; no bytes here."""
