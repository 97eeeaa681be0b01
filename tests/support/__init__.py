"""What the tests share: servers, databases, and tools to hold a race on purpose."""
