"""`howdah demo`: real work on real files, while workers are killed; and a check that nothing was lost or done twice."""
