-- Whether this role may read the errors of jobs: a reader without args may not.
SELECT has_column_privilege('howdah.jobs', 'errors', 'SELECT') AND has_column_privilege('howdah.history', 'errors', 'SELECT') AS errors
