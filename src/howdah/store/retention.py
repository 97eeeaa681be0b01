"""How long history is kept: HOWDAH_RETENTION, or 30 days."""

from __future__ import annotations

import os

from howdah.model.errors import InvalidOption
from howdah.model.limits import check_seconds

DAY = 86_400.0
DEFAULT = 30 * DAY


def retention() -> float:
    """Seconds, at least a day. Raises InvalidOption for a HOWDAH_RETENTION that is not such a number."""
    given = os.environ.get("HOWDAH_RETENTION")
    if not given:
        return DEFAULT
    try:
        seconds = float(given)
    except ValueError:
        raise InvalidOption("HOWDAH_RETENTION", given, "must be seconds: 2592000 for 30 days") from None
    return check_seconds("HOWDAH_RETENTION", seconds, low=DAY)
