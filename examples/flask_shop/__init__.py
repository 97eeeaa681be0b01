"""A shop with Flask and Session."""
