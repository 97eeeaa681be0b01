"""The handler for what the trigger enqueues.

cd examples
howdah migrate
psql -f trigger/schema.sql "$HOWDAH_DSN"
howdah worker -m trigger.jobs -q search:4
"""

from __future__ import annotations

from howdah import Context, job

WORDS = """
    INSERT INTO search_words (article_id, word)
    SELECT DISTINCT id, lower(word)
    FROM articles, regexp_split_to_table(title || ' ' || body, '\\W+') AS word
    WHERE id = %s AND word <> ''
"""


@job(queue="search")
async def index_article(ctx: Context, article_id: int) -> int:
    """Index the words of an article as it is now: it does not matter which change asked for it."""
    async with ctx.transaction() as connection:
        # The lock makes two jobs about one article take turns, so that the last to look has the last word.
        await connection.execute("SELECT FROM articles WHERE id = %s FOR NO KEY UPDATE", [article_id])
        await connection.execute("DELETE FROM search_words WHERE article_id = %s", [article_id])
        indexed = await connection.execute(WORDS, [article_id])
    return indexed.rowcount
