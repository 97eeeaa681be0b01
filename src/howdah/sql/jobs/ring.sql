-- Tells idle workers that jobs have been loaded into these queues.
SELECT howdah.ring(q.queue) FROM unnest(%(queues)s::text[]) AS q (queue)
