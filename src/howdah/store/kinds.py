"""The policies of kinds, as operators see and change them; what workers declare is in `store/workers.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from howdah.model.job import Policy
from howdah.model.limits import MAX_NOTE, check_name
from howdah.model.policy import checked_changes
from howdah.store.operation import Operation, Query, Row, Rows


def every() -> Operation[Rows]:
    """The policies in force, by kind."""
    return (yield Query("kinds/list"))


def change(kind: str, changes: Mapping[str, Any], note: str | None = None) -> Operation[Row]:
    """Change parts of a policy, from now on and until `reset`, whatever workers declare. Audited. The whole policy.

    A kind that no worker has declared has the defaults but for the changes. Raises InvalidOption.
    """
    params = {
        "defaults": _json(asdict(Policy(check_name("kind", kind)))),
        "changes": _json(checked_changes(changes)),
        "note": None if note is None else check_name("note", note, limit=MAX_NOTE),
    }
    return (yield Query("kinds/set", params))[0]


def reset(kind: str, note: str | None = None) -> Operation[Row | None]:
    """Let the policy be what the code last declared, `declared` of the answer. Audited. None where nothing was set."""
    note = None if note is None else check_name("note", note, limit=MAX_NOTE)
    found = yield Query("kinds/reset", {"kind": check_name("kind", kind), "note": note})
    return found[0] if found else None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
