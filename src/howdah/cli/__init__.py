"""The command line: parses arguments and calls the rest. `--help` imports neither driver nor SQLAlchemy."""

from howdah.cli.main import main

__all__ = ["main"]
