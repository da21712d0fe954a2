"""Every setting of Poimen, read from the environment (docs/reference/settings.md explains each).

Defaults are safe: without configuration Poimen listens on loopback only, answers nobody anonymously and shows no
debug pages.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from poimen_site.secret_key import load_or_create_secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

POIMEN_HOME = Path(env.str("POIMEN_HOME", default=str(BASE_DIR / "var"))).expanduser().resolve()
ENVIRONMENT = env.str("ENVIRONMENT", default="development")
DEBUG = False
HOST = env.str("HOST", default="127.0.0.1")
PORT = env.int("PORT", default=8080)
ALLOWED_HOSTS = env.list("POIMEN_ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("POIMEN_TRUSTED_ORIGINS", default=[])
# Origins whose pages may call the API with a bearer token; cookies never cross origins (contract-rest-api 1).
POIMEN_CORS_ORIGINS = env.list("POIMEN_CORS_ORIGINS", default=[] if ENVIRONMENT == "production" else ["*"])

_secret_key = env.str("POIMEN_SECRET_KEY", default="")
if ENVIRONMENT == "production":
    if not _secret_key:
        raise ImproperlyConfigured(
            "ENVIRONMENT=production needs POIMEN_SECRET_KEY: one long random text, the same for every process. "
            'Make one with: python -c "import secrets; print(secrets.token_urlsafe(64))"'
        )
    if "*" in ALLOWED_HOSTS:
        raise ImproperlyConfigured(
            "ENVIRONMENT=production refuses POIMEN_ALLOWED_HOSTS=*: list the host names that clients use."
        )
SECRET_KEY = _secret_key or load_or_create_secret_key(POIMEN_HOME)

INSTALLED_APPS = [
    "poimen_site",
    "canvas",
    "workflows",  # before django_q: its qcluster command supervises django_q's
    "django_q",
    "rest_framework",
    "django_filters",
    "channels",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "poimen_site.middleware.RequestLogMiddleware",
    "poimen_site.middleware.CrossOriginMiddleware",
    "poimen_site.middleware.RefuseNulMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "poimen_site.middleware.PageHeadersMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "poimen_site.middleware.DatabaseUnavailableMiddleware",  # innermost: it is synchronous, and so the others are
]

ROOT_URLCONF = "poimen_site.urls"
ASGI_APPLICATION = "poimen_site.asgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


DATABASE_URL = env.str("DATABASE_URL", default="")


def _database() -> dict[str, Any]:
    """``DATABASE_URL`` when set, else the embedded server of this ``POIMEN_HOME`` (started by ``bin/run``)."""
    url = DATABASE_URL
    if not url:
        from poimen_site.embedded_postgres import EmbeddedPostgres

        url = EmbeddedPostgres(POIMEN_HOME).url
    config: dict[str, Any] = env.db_url_config(url)
    config["ENGINE"] = "django.db.backends.postgresql"
    config["CONN_HEALTH_CHECKS"] = True
    config.setdefault("OPTIONS", {})
    config["OPTIONS"] |= {
        "pool": {
            "min_size": 1,
            "max_size": env.int("POIMEN_DB_POOL", default=16),
            "timeout": 3,  # then the answer is 503
            # An attempt that goes on doubles its pauses; one that gives up leaves the next request to try at once.
            "reconnect_timeout": 2,
        },
        "application_name": "poimen",
    }
    return config


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {
            "location": str(POIMEN_HOME / "artifacts"),
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        },
    },
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "workflows.access.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["poimen_site.request_body.BoundedJSONParser"],
    "EXCEPTION_HANDLER": "poimen_site.errors.exception_handler",
}

SIMPLE_JWT = {
    "ACCESS_TOKEN_LIFETIME": timedelta(minutes=env.int("POIMEN_ACCESS_TOKEN_MINUTES", default=60)),
    "REFRESH_TOKEN_LIFETIME": timedelta(days=env.int("POIMEN_REFRESH_TOKEN_DAYS", default=7)),
    "SIGNING_KEY": env.str("JWT_SECRET", default="") or SECRET_KEY,
}

REDIS_URL = env.str("REDIS_URL", default="")

# Worker processes: each runs one pump, which drives many branches at once (workflows/engine/pump.py).
POIMEN_WORKERS = env.int("POIMEN_WORKERS", default=2)
Q_CLUSTER: dict[str, Any] = {
    "name": "poimen",
    "workers": POIMEN_WORKERS,
    "timeout": 86_400,  # a pump is long; activities have timeouts of their own
    "retry": 90_000,
    "max_attempts": 1,
    "bulk": 1,
    "poll": 0.2,
    "save_limit": -1,
    "catch_up": False,
    "scheduler": False,
    "label": "Queue",
}
if REDIS_URL:
    Q_CLUSTER["redis"] = REDIS_URL
else:
    Q_CLUSTER["orm"] = "default"

POIMEN_PUMP_THREADS = env.int("POIMEN_PUMP_THREADS", default=32)
POIMEN_PUMP_CAPACITY = env.int("POIMEN_PUMP_CAPACITY", default=256)
POIMEN_ACTIVITY_PROCESSES = env.int("POIMEN_ACTIVITY_PROCESSES", default=8)
POIMEN_LEASE_SECONDS = env.float("POIMEN_LEASE_SECONDS", default=10.0)
POIMEN_RETENTION_DAYS = env.int("POIMEN_RETENTION_DAYS", default=30)
POIMEN_AUTO_APPROVE = env.bool("POIMEN_AUTO_APPROVE", default=False) and ENVIRONMENT != "production"
POIMEN_TEST_ACTIVITIES = env.bool("POIMEN_TEST_ACTIVITIES", default=False)

# Where activities may read and reach (contract-activities 16).
POIMEN_REPO_ROOTS = [
    Path(p).expanduser().resolve() for p in env.list("POIMEN_REPO_ROOTS", default=[str(BASE_DIR), str(POIMEN_HOME)])
]
POIMEN_ALLOWED_PRIVATE_HOSTS = env.list("POIMEN_ALLOWED_PRIVATE_HOSTS", default=[])

DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
CSRF_FAILURE_VIEW = "poimen_site.errors.csrf_failure"
LOGIN_URL = "/admin/login/"

SECURE_CONTENT_TYPE_NOSNIFF = True
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT == "production"
X_FRAME_OPTIONS = "DENY"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    # What these say about themselves at INFO is noise beside what the work has to say; httpcore even tells headers.
    "loggers": {name: {"level": "WARNING"} for name in ("django-q", "daphne", "httpx", "httpcore")}
    # 4xx are in the line that each request leaves (poimen_site.middleware.RequestLogMiddleware).
    | {name: {"level": "ERROR"} for name in ("psycopg.pool", "django.request")},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="info").upper()},
}
