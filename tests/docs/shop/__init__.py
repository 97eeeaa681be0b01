"""The shop that the pages' snippets take for granted."""
