"""What is printed from the code is as the code is."""

from pathlib import Path

from howdah.model.transitions import diagram

STATES = Path(__file__).parents[2] / "docs" / "states.md"


def test_the_diagram_in_the_docs_is_that_of_the_state_table() -> None:
    assert diagram() in STATES.read_text()
