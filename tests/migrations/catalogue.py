"""What a database holds of Howdah, as lines to compare: every definition, option, right and comment."""

from __future__ import annotations

import psycopg

_LINES = """
WITH ours AS (SELECT c.* FROM pg_class c WHERE c.relnamespace = to_regnamespace('howdah'))
SELECT format('relation %s %s %s %s %s', c.relname, c.relkind, c.reloptions, c.relacl,
    pg_get_expr(c.relpartbound, c.oid))
FROM ours c
UNION ALL
SELECT format('column %s.%s %s %s %s %s %s', c.relname, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod),
    a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
FROM ours c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
UNION ALL
SELECT format('constraint %s.%s %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
FROM ours c JOIN pg_constraint k ON k.conrelid = c.oid
UNION ALL
SELECT pg_get_indexdef(c.oid) FROM ours c WHERE c.relkind IN ('i', 'I')
UNION ALL
SELECT format('view %s %s', c.relname, pg_get_viewdef(c.oid)) FROM ours c WHERE c.relkind = 'v'
UNION ALL
SELECT format('sequence %s %s %s %s %s %s', c.relname, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache)
FROM ours c JOIN pg_sequence s ON s.seqrelid = c.oid
UNION ALL
SELECT format('function %s %s', pg_get_functiondef(p.oid), p.proacl)
FROM pg_proc p WHERE p.pronamespace = to_regnamespace('howdah')
UNION ALL
SELECT format('comment %s %s %s', c.relname, d.objsubid, d.description)
FROM ours c JOIN pg_description d ON d.objoid = c.oid AND d.classoid = 'pg_class'::regclass
UNION ALL
SELECT format('comment %s %s', p.proname, d.description)
FROM pg_proc p JOIN pg_description d ON d.objoid = p.oid WHERE p.pronamespace = to_regnamespace('howdah')
UNION ALL
SELECT format('ledger %s', version) FROM howdah.schema_version
"""


def catalogue(dsn: str) -> list[str]:
    """Every definition in schema howdah, sorted."""
    with psycopg.connect(dsn) as conn:
        return sorted(line for (line,) in conn.execute(_LINES))
