-- psql -f trigger/schema.sql "$HOWDAH_DSN", after howdah migrate.

CREATE TABLE IF NOT EXISTS articles (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    title text NOT NULL,
    body text NOT NULL
);

CREATE TABLE IF NOT EXISTS search_words (
    article_id bigint,
    word text,
    PRIMARY KEY (article_id, word)
);

-- The job commits and rolls back with the row. The subject lets the newest change supersede the older ones.
CREATE OR REPLACE FUNCTION index_article() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM howdah.enqueue(
        'index_article',
        jsonb_build_object('article_id', NEW.id),
        queue => 'search',
        subject => 'article:' || NEW.id
    );
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER index_article
AFTER INSERT OR UPDATE OF title, body ON articles
FOR EACH ROW EXECUTE FUNCTION index_article();
