# A worker of the example `plain`. A service of yours needs the same five steps: its package in place of the example.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY alembic alembic
COPY src src
RUN pip install . && rm -rf /build

WORKDIR /app
COPY examples .

# No root, no password: the DSN comes from the environment (HOWDAH_DSN), the password from PGPASSWORD or PGPASSFILE.
RUN useradd --system --no-create-home --uid 10001 howdah
USER howdah

# The exec form: howdah itself is told to stop, and finishes what has begun.
ENTRYPOINT ["howdah"]
CMD ["worker", "-m", "plain.jobs", "-q", "documents:10"]
