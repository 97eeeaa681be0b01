"""The pages hold together: links lead somewhere, files that are named exist, and every command is in its page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from howdah.cli import main
from tests.docs.fences import OTHER_PAGES, PAGES, TOP

EVERY_PAGE = [page for page in PAGES + OTHER_PAGES if page.name != "CHANGELOG.md"]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`((?:[\w.]+/)+[\w.]+\.(?:py|sql|md|toml))`")
COMMAND_LINE = (TOP / "docs" / "command-line.md").read_text()
ROW = re.compile(r"^\| `howdah ([^`]+)` \|.*\| (.*)\|$", re.MULTILINE)
OPTION = re.compile(r"`(--?[a-z][\w-]*)`")
WORD = re.compile(r"(?<!\S)[a-z]+(?!\S)")
EVERYWHERE = {"dsn", "output", "help", "version"}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(TOP)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_can_be_reached_from_the_index() -> None:
    seen: set[Path] = set()
    to_see = [TOP / "docs" / "README.md"]
    while to_see:
        page = to_see.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = [link.partition("#")[0] for link in LINK.findall(page.read_text())]
        to_see += [(page.parent / link).resolve() for link in links if link and "://" not in link]
    decisions = set((TOP / "docs" / "decisions").glob("*.md"))  # a folder is enough of an index
    assert set((TOP / "docs").glob("**/*.md")) - decisions - seen == set()


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(TOP)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    places = (TOP, TOP / "src" / "howdah", page.parent)
    named = set(FILE.findall(FENCE.sub("", page.read_text())))
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(TOP)))
def test_exactly_once_is_only_said_of_a_database_transaction(page: Path) -> None:
    paragraphs = [" ".join(paragraph.split()) for paragraph in page.read_text().split("\n\n")]
    said = [text for text in paragraphs if "exactly once" in text.lower()]
    assert [text for text in said if "transaction" not in text] == []


def test_every_command_has_its_row_with_every_option_and_no_other() -> None:
    rows = {match[1]: match[2] for match in ROW.finditer(COMMAND_LINE)}
    said = {
        " ".join(word for word in row.split() if word.isalpha() and word.islower()): options
        for row, options in rows.items()
    }
    found = dict(commands(main, ()))
    assert set(said) == set(found)
    filters = set(OPTION.findall(COMMAND_LINE[COMMAND_LINE.index("### The filter") : COMMAND_LINE.index("## Queues")]))
    for name, command in found.items():
        named = set(OPTION.findall(said[name])) | (filters if "#the-filter" in said[name] else set())
        options = [o for o in command.params if isinstance(o, click.Option) and not o.hidden]
        own = [{*o.opts, *o.secondary_opts} for o in options if o.name not in EVERYWHERE]
        assert [spelled for spelled in own if not spelled & named] == [], name
        assert named - set().union(*own) == set(), name


def test_every_variable_of_the_environment_is_in_the_table_of_settings() -> None:
    sources = [path for path in (TOP / "src" / "howdah").rglob("*.py") if path.parent.name != "demo"]
    read = {name for path in sources for name in re.findall(r"\bHOWDAH_[A-Z_]+\b", path.read_text())}
    operations = (TOP / "docs" / "operations" / "README.md").read_text()
    settings = operations[operations.index("## Settings") : operations.index("## Connections")]
    assert read - set(re.findall(r"HOWDAH_[A-Z_]+", settings)) == set()


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by the words one says after howdah."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, (*path, name))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
