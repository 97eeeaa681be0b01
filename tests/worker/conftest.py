from __future__ import annotations

import pytest

from howdah.worker import trouble


@pytest.fixture(autouse=True)
def _a_fresh_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test before may have said something less than a second ago."""
    monkeypatch.setattr(trouble.VOICE, "_silent_until", float("-inf"))
    monkeypatch.setattr(trouble.VOICE, "_unsaid", 0)
