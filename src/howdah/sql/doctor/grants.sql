-- Which of these rights the current role has; one that names a missing object is not granted.
SELECT current_user::text AS username, n.role, n.what, n.writes,
    coalesce(CASE n.type
        WHEN 'schema' THEN has_schema_privilege(n.object, n.privilege)
        WHEN 'table' THEN has_table_privilege(to_regclass(n.object)::oid, n.privilege)
        WHEN 'column' THEN has_column_privilege(to_regclass(n.object)::oid, n.field, n.privilege)
        WHEN 'sequence' THEN has_sequence_privilege(to_regclass(n.object)::oid, n.privilege)
        WHEN 'function' THEN (
            SELECT bool_and(has_function_privilege(p.oid, n.privilege))
            FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
            WHERE s.nspname = 'howdah' AND 'howdah.' || p.proname = n.object
        )
    END, false) AS granted
FROM unnest(
    %(roles)s::text[], %(whats)s::text[], %(types)s::text[], %(objects)s::text[], %(fields)s::text[], %(privileges)s::text[],
    %(writes)s::boolean[]
) AS n (role, what, type, object, field, privilege, writes)
