"""The handler: one statement in the attempt's own transaction."""

from __future__ import annotations

from howdah import Context, job


@job(queue="documents")
def count_words(ctx: Context, path: str) -> int:
    """Count the words of a stored document. The count and the completion are one commit."""
    with ctx.transaction() as connection:
        row = connection.execute("SELECT text FROM documents WHERE path = %s", [path]).fetchone()
        words = len(row[0].split()) if row else 0
        connection.execute("UPDATE documents SET words = %s WHERE path = %s", [words, path])
    return words
