-- Asks whether somebody hears: a notification on a channel of the listener's own.
SELECT pg_notify(%(channel)s::text, '')
