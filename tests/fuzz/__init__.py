"""Fuzz targets: from a seed to bytes that confuse, and what must hold whatever they are."""
