# Two stages: the first builds the virtual environment, the second runs it as a user without rights.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
COPY requirements.txt .
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --disable-pip-version-check -r requirements.txt

FROM python:3.11-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends git tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /home/poimen --create-home poimen \
    && install -d -o poimen -g poimen -m 0700 /var/lib/poimen
COPY --from=build /venv /venv
WORKDIR /app
COPY . .
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    ENVIRONMENT=production HOST=0.0.0.0 PORT=8080 POIMEN_HOME=/var/lib/poimen
# The key serves this one command; it is in no file and no layer's environment.
RUN POIMEN_SECRET_KEY=unused-while-building-the-image-which-starts-nothing-with-it POIMEN_HOME=/tmp/home DATABASE_URL=postgresql://nobody@localhost/none \
    python manage.py collectstatic --noinput -v 0
USER 10001
VOLUME /var/lib/poimen
EXPOSE 8080
# tini collects what activities leave behind; processes get SIGTERM and have 10 s.
ENTRYPOINT ["tini", "--", "python", "manage.py"]
CMD ["web"]
