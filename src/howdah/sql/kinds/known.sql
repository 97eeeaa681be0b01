-- The kinds that workers have registered.
SELECT k.kind FROM howdah.kinds k ORDER BY k.kind
