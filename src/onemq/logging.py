"""What the server tells about itself, on standard error: lines for people, or JSON for machines.

    2026-01-31 12:00:00.123 info    net.listener: resp listens on 127.0.0.1:6379
    {"time": "2026-01-31T12:00:00.123Z", "level": "info", "from": "net.listener", "text": "..."}
"""

import logging
import sys
from datetime import UTC, datetime
from typing import Literal


def configure(form: Literal["readable", "json"], level: str) -> None:
    """Sends everything that OneMQ logs from here on to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else ReadableFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)


class ReadableFormatter(logging.Formatter):
    """Local time, level, place and text; a traceback on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).isoformat(" ", "milliseconds")
        text = super().format(record)
        return f"{time} {record.levelname.lower():8} {_place(record)}: {text}"


class JsonFormatter(logging.Formatter):
    """One object on one line, time in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        import msgspec  # the CLI wants to start without it

        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "from": _place(record),
            "text": record.getMessage(),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(fields).decode()


def _place(record: logging.LogRecord) -> str:
    return record.name.removeprefix("onemq.")
