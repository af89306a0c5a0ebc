"""docs/protocols/kafka.md: what of it is made.

python -m tests.docs.kafka_page       writes the table of APIs anew
"""

import re
from pathlib import Path

from onemq.protocols.kafka.api import Api
from onemq.protocols.kafka.apis import APIS
from onemq.protocols.kafka.schema import NEVER

PAGE = Path(__file__).parents[2] / "docs" / "protocols" / "kafka.md"
_TABLE = re.compile(r"(?<=<!-- apis -->\n).*?(?=<!-- /apis -->)", re.DOTALL)
_EXAMPLE = re.compile(r"```python\n((?:(?!```).)*)```\n\nIt prints:\n\n```\n(.*?)```", re.DOTALL)


def api_table() -> str:
    rows = [f"| {api.key} | {api.name} | {_versions(api)} | {_flexible(api)} |\n" for api in APIS]
    return "| key | API | versions | flexible from |\n|---|---|---|---|\n" + "".join(rows)


def written_table(text: str) -> str:
    found = _TABLE.search(text)
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
    PAGE.write_text(_TABLE.sub(api_table(), PAGE.read_text()))
