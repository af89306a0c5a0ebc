"""Filters: which messages someone wants, said in text and compiled once.

Reading order: `filter.py` (what callers see), `grammar.py` (from text to a tree), `tree.py` (the tree), `build.py`
(what may stand where), `fields.py` (what names mean), `source.py` (from the tree to Python), `values.py` and `like.py`
(what that calls).
"""

from onemq.core.filter.filter import Filter, compile_filter

__all__ = ["Filter", "compile_filter"]
