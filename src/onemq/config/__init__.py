"""The configuration: one TOML file, overridden by options of the command line.

An empty file, or none, is a configuration; docs/onemq.toml shows all keys. In reading order:
values.py, settings.py, source.py, load.py.
"""

from onemq.config.load import OPTIONS, load_config
from onemq.config.settings import Config, KafkaSettings, LogSettings, RespSettings, ServerSettings, TopicSettings
from onemq.config.values import MEMORY, OFF, Address

__all__ = [
    "MEMORY",
    "OFF",
    "OPTIONS",
    "Address",
    "Config",
    "KafkaSettings",
    "LogSettings",
    "RespSettings",
    "ServerSettings",
    "TopicSettings",
    "load_config",
]
