"""What Howdah decides, apart from all I/O: no driver, no clock, no randomness, no threads."""
