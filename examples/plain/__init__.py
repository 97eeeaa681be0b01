"""A script and a handler with nothing but psycopg."""
