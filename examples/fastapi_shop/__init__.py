"""A shop with FastAPI and AsyncSession."""
