-- The version of the schema; fails where there is none.
SELECT max(v.version) AS version FROM howdah.schema_version v
