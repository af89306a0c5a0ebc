"""docs/protocols/kafka.md: what of it is made.

python -m tests.docs.kafka_page       writes the tables of APIs and of settings anew
"""

import re
from pathlib import Path

from onemq.core.settings import TopicConfig
from onemq.protocols.kafka.admin.topic_settings import value_of
from onemq.protocols.kafka.admin.topic_table import SETTINGS
from onemq.protocols.kafka.api import Api
from onemq.protocols.kafka.apis import APIS
from onemq.protocols.kafka.schema import NEVER

PAGE = Path(__file__).parents[2] / "docs" / "protocols" / "kafka.md"
_TABLE = re.compile(r"(?<=<!-- apis -->\n).*?(?=<!-- /apis -->)", re.DOTALL)
_SETTINGS = re.compile(r"(?<=<!-- settings -->\n).*?(?=<!-- /settings -->)", re.DOTALL)
_EXAMPLE = re.compile(r"```python\n((?:(?!```).)*)```\n\nIt prints:\n\n```\n(.*?)```", re.DOTALL)


def api_table() -> str:
    rows = [f"| {api.key} | {api.name} | {_versions(api)} | {_flexible(api)} |\n" for api in APIS]
    return "| key | API | versions | flexible from |\n|---|---|---|---|\n" + "".join(rows)


def written_table(text: str) -> str:
    found = _TABLE.search(text)
    assert found is not None
    return found[0]


def settings_table() -> str:
    """Those that act with what they do, and the names of the others."""
    acting = [setting for setting in SETTINGS.values() if setting.acting is not None]
    defaults = TopicConfig()
    rows = [f"| `{each.name}` | {_default(value_of(each, defaults))} | {each.documentation} |\n" for each in acting]
    others = ", ".join(f"`{name}`" for name, each in SETTINGS.items() if each.acting is None)
    head = "| setting | default | |\n|---|---|---|\n"
    return head + "".join(rows) + f"\nKept, without effect: {others}.\n"


def _default(value: str) -> str:
    return f"`{value}`" if value else "empty"


def written_settings(text: str) -> str:
    found = _SETTINGS.search(text)
    assert found is not None
    return found[0]


def examples(text: str) -> list[tuple[str, str]]:
    """The programs of which the page says what they print, and that."""
    return _EXAMPLE.findall(text)


def _versions(api: Api) -> str:
    return str(api.first) if api.first == api.last else f"{api.first} to {api.last}"


def _flexible(api: Api) -> str:
    since = api.request.flexible_since
    return "" if since == NEVER or since > api.last else str(max(since, api.first))


if __name__ == "__main__":
    page = _TABLE.sub(api_table(), PAGE.read_text())
    PAGE.write_text(_SETTINGS.sub(lambda _: settings_table(), page))
