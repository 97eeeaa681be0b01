"""`howdah bench`: the product as shipped, measured beside raw SQL in the same run, on databases of its own."""
