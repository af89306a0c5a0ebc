"""docs/pipelines.md: its links. Its examples are run by tests/spark/test_pipelines_page.py."""

import re

from tests.docs.pipelines_page import PAGE, alike, anchors


def test_every_link_leads_somewhere() -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", PAGE.read_text()):
        assert (PAGE.parent / target).exists(), target
        assert target or anchor in anchors(), anchor


def test_three_dots_stand_for_any_lines_and_times_are_passed_over() -> None:
    printed = "begun at 2026-11-16 08:00:00.123\none\ntwo  \nend\n"
    assert alike("begun at 2026-01-01 00:00:00\none\ntwo\nend\n", printed)
    assert alike("...\nend\n", printed)
    assert alike("...\n", printed)
    assert not alike("one\n...\n", printed)
