"""Every finding is explained, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

from howdah.diagnosis import CHECKS

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "doctor.md"


def test_every_finding_has_its_chapter() -> None:
    chapters = re.findall(r"^### `([a-z-]+)`$", PAGE.read_text(), re.MULTILINE)
    assert sorted(chapters) == sorted(["reachable", "schema-version", *(check.id for check in CHECKS)])


def test_what_a_check_says_is_of_its_id() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)
