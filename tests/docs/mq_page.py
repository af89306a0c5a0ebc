"""docs/protocols/mq.md: what of it is made, and how its examples are run.

    python -m tests.docs.mq_page       writes the reference and the replies of the examples anew

Examples are as in resp_page.py, but in RESP3, and pushes are shown.
"""

import re
import tempfile
from pathlib import Path

from onemq.protocols.resp.mq.help import FACTS, usage_of
from tests.docs.resp_page import replayed, serve

PAGE = Path(__file__).parents[2] / "docs" / "protocols" / "mq.md"
OPTIONS = ("-3", "--show-pushes", "yes")
_REFERENCE = re.compile(r"(?<=<!-- reference -->\n).*?(?=<!-- /reference -->)", re.DOTALL)


def reference() -> str:
    """All commands by chapter, with what they take."""
    lines: list[str] = []
    chapter = ""
    for name, fact in FACTS.items():
        if fact.chapter != chapter:
            chapter = fact.chapter
            lines += [f"### {chapter}", "", "```text"]
        lines += [usage_of(name), f"    {fact.summary}."]
        lines.append("")
    text = "\n".join(lines)
    return re.sub(r"\n\n### ", "\n```\n\n### ", text).rstrip() + "\n```\n"


def with_reference(text: str) -> str:
    """The page with the reference as it should be."""
    return _REFERENCE.sub(lambda _: reference(), text)


def main() -> None:
    text = with_reference(PAGE.read_text())
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder), text) as broker:
        broker.wait_until_serving()
        PAGE.write_text(replayed(text, broker.port, *OPTIONS))


if __name__ == "__main__":
    main()
