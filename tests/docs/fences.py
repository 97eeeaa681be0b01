"""The fenced blocks of a page, and which of them are run.

    python    run, in one namespace per page; `await` may stand at the top; a block that begins with a path, such as
              `# shop/jobs.py`, is written there, in the page's folder, and imported
    bash      run line by line in the page's folder; `howdah worker` and `howdah dev` run until the end of their block
    sql       run, on a connection in autocommit mode
    others    only shown: output, diagrams, files of other languages

The page's folder has a package `shop` (see tests/docs/shop), the database its table `orders`, and the first job that is
enqueued has the id 42. HOWDAH_DSN is that database, whatever a block exports, and a
health port is any free one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

TOP = Path(__file__).parents[2]
PAGES = sorted([TOP / "README.md", *(TOP / "docs").glob("**/*.md"), *TOP.glob("examples/*.md")])
OTHER_PAGES = [TOP / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md") if (TOP / name).exists()]

RUN = ("python", "bash", "sql")
SHOWN = ("text", "json", "mermaid", "yaml", "ini", "toml", "dockerfile")

# Blocks that look as if they could run and do not: page, how the block begins, and why. Nothing else is left out.
NOT_RUN: dict[tuple[str, str], str] = {
    ("README.md", "make demo"): "sets up a virtual environment, and runs all tests: this one too",
    ("README.md", "pip install ."): "installs into the environment that runs this",
}


@dataclass(frozen=True, slots=True)
class Fence:
    """One block: the page, relative to the repository; the line of its first line of text; its language; its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def reason_not_to_run(self) -> str | None:
        """Why it is not run although its language is one that is, or None."""
        found = (reason for (page, start), reason in NOT_RUN.items() if (page, start) == (self.page, self.start))
        return next(found, None)

    @property
    def start(self) -> str:
        """Its first words, as NOT_RUN names it."""
        known = (start for page, start in NOT_RUN if page == self.page and self.text.startswith(start))
        return next(known, self.text.partition("\n")[0])


def fences(page: Path) -> list[Fence]:
    """All fenced blocks of a page, also those inside lists, in their order."""
    name = str(page.relative_to(TOP) if page.is_relative_to(TOP) else page)
    tokens = MarkdownIt().parse(page.read_text())
    return [
        Fence(name, token.map[0] + 2, token.info.strip(), token.content)
        for token in tokens
        if token.type == "fence" and token.map is not None
    ]
