"""Every setting of Poimen, read from the environment (docs/reference/settings.md explains each).

Defaults are safe: without configuration Poimen listens on loopback only, answers nobody anonymously and shows no
debug pages.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from poimen_site import llm_settings
from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.environment import (
    Environment,
    SettingError,
    is_host,
    is_host_pattern,
    is_origin,
    is_origin_or_any,
)
from poimen_site.outside_services import (
    archives,
    authorization_servers,
    mail_server,
    memory_service,
    notification_webhooks,
)
from poimen_site.secret_key import check_strength, load_or_create_secret_key
from poimen_site.token_issuer import token_issuer

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment()

POIMEN_HOME = env.home("POIMEN_HOME", default=BASE_DIR / "var")
ENVIRONMENT = env.choice("ENVIRONMENT", ("development", "production"), default="development")
DEBUG = False
HOST = env.text("HOST", default="127.0.0.1")
PORT = env.whole_number("PORT", default=8080, least=1, most=65535)
ALLOWED_HOSTS = env.words(
    "POIMEN_ALLOWED_HOSTS",
    default=["127.0.0.1", "localhost", "[::1]"],
    each=is_host_pattern,
    expected="host names without scheme and port",
)
CSRF_TRUSTED_ORIGINS = env.words(
    "POIMEN_TRUSTED_ORIGINS", default=[], each=is_origin, expected="origins like https://poimen.example.org"
)
# Origins whose pages may call the API with a bearer token; cookies never cross origins (contract-rest-api 1).
POIMEN_CORS_ORIGINS = env.words(
    "POIMEN_CORS_ORIGINS",
    default=[] if ENVIRONMENT == "production" else ["*"],
    each=is_origin_or_any,
    expected="origins like https://poimen.example.org, or *",
)

_secret_key = env.text("POIMEN_SECRET_KEY", default="")
if ENVIRONMENT == "production":
    if not _secret_key:
        raise SettingError(
            "ENVIRONMENT=production needs POIMEN_SECRET_KEY: one long random text, the same for every process. "
            'Make one with: python -c "import secrets; print(secrets.token_urlsafe(64))"'
        )
    if "*" in ALLOWED_HOSTS:
        raise SettingError(
            "ENVIRONMENT=production refuses POIMEN_ALLOWED_HOSTS=*: list the host names that clients use."
        )
    check_strength("POIMEN_SECRET_KEY", _secret_key)
    if "*" in POIMEN_CORS_ORIGINS:
        raise SettingError(
            "ENVIRONMENT=production refuses POIMEN_CORS_ORIGINS=*: list the origins whose pages may call the API."
        )
SECRET_KEY = _secret_key or load_or_create_secret_key(POIMEN_HOME)
# Keys that came before: what they signed or encrypted is still read, nothing new is.
SECRET_KEY_FALLBACKS = env.words("POIMEN_SECRET_KEY_FALLBACKS", default=[], each=bool, expected="earlier secret keys")

INSTALLED_APPS = [
    "poimen_site",
    "canvas",
    "agents",
    "memory",
    "workflows",  # before django_q: its qcluster command supervises django_q's
    "django_q",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",  # the files of /docs
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
    "poimen_site.observability.request_identity.RequestIdMiddleware",
    "poimen_site.observability.scraping.RequestTimeMiddleware",
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

# Traces are sent where OpenTelemetry's own variables say; without them nothing of it is loaded.
if env.text("OTEL_EXPORTER_OTLP_ENDPOINT", default="") or env.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", default=""):
    MIDDLEWARE.insert(1, "poimen_site.observability.traces.RequestTraceMiddleware")

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


DATABASE_URL = env.text("DATABASE_URL", default="")


def _database() -> dict[str, Any]:
    """``DATABASE_URL`` when set, else the embedded server of this ``POIMEN_HOME`` (started by ``bin/run``)."""
    config = env.database("DATABASE_URL", default=lambda: EmbeddedPostgres(POIMEN_HOME).url)
    config["CONN_HEALTH_CHECKS"] = True
    config["OPTIONS"] |= {
        "pool": {
            "min_size": 1,
            "max_size": env.whole_number("POIMEN_DB_POOL", default=16, least=1, most=1000),
            "timeout": 3,  # then the answer is 503
            # An attempt that goes on doubles its pauses; one that gives up leaves the next request to try at once.
            "reconnect_timeout": 2,
        },
        "application_name": "poimen",
        "prepare_threshold": 2,  # for statements bound by the server, which the ORM's are not
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
FORMAT_MODULE_PATH = "poimen_site.formats"  # moments look alike everywhere

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
# On one's own machine files change under a running server: each is looked up when it is asked for. In production they
# are those of the image, found once at the start.
WHITENOISE_AUTOREFRESH = ENVIRONMENT != "production"
WHITENOISE_MAX_AGE = 60 if ENVIRONMENT == "production" else 0  # seconds

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "workflows.access.ApiKeyAuthentication",
        "workflows.access.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["poimen_site.request_body.BoundedJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "workflows.api.requests.Negotiation",
    "DEFAULT_SCHEMA_CLASS": "workflows.api.documentation.Schema",
    "EXCEPTION_HANDLER": "poimen_site.errors.exception_handler",
    "DEFAULT_THROTTLE_CLASSES": ["workflows.rate_limit.CustomerThrottle"],
    "DEFAULT_THROTTLE_RATES": {"failed-sign-ins": "10/min"},
    # Of X-Forwarded-For only what this many proxies of ours wrote is believed; the rest anybody can invent.
    "NUM_PROXIES": env.whole_number("POIMEN_PROXIES", default=0, least=0, most=10),
}

# Requests that a customer may make over REST, by all web processes together; 0: any number.
POIMEN_REQUESTS_PER_MINUTE = env.whole_number("POIMEN_REQUESTS_PER_MINUTE", default=12_000, least=0, most=100_000_000)

SPECTACULAR_SETTINGS = {
    "TITLE": "Poimen",
    "DESCRIPTION": "Durable workflows that people can draw, watch, stop and decide in",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/",
    "POSTPROCESSING_HOOKS": [],  # choices stay where they are used
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # Deep links would be links inside buttons, which nobody can tell apart without seeing them.
    "SWAGGER_UI_SETTINGS": {"deepLinking": False, "persistAuthorization": False, "validatorUrl": None},
}

SIMPLE_JWT = {
    "ACCESS_TOKEN_LIFETIME": timedelta(
        minutes=env.whole_number("POIMEN_ACCESS_TOKEN_MINUTES", default=60, least=1, most=525_600)
    ),
    "REFRESH_TOKEN_LIFETIME": timedelta(
        days=env.whole_number("POIMEN_REFRESH_TOKEN_DAYS", default=7, least=1, most=3650)
    ),
    "SIGNING_KEY": env.text("JWT_SECRET", default="") or SECRET_KEY,
}

# Tokens of another issuer, checked by its keys; None: only those of POST /auth/token are taken (contract-rest-api 1).
POIMEN_TOKEN_ISSUER = token_issuer(env)

REDIS_URL = env.redis("REDIS_URL")

# What failed sign-ins are counted in: with Redis by all web processes together, else by each on its own.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 100_000}}
}

# Hints for live logs go through Redis where there is one; without, PostgreSQL carries them.
CHANNEL_LAYERS: dict[str, Any] = {}
if REDIS_URL:
    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "poimen:"},
    }
# For how long a client may take nothing of what it is sent before its connection is cut.
POIMEN_SLOW_READER_SECONDS = env.number("POIMEN_SLOW_READER_SECONDS", default=30.0, least=1.0, most=3600.0)

# Worker processes: each runs one pump, which drives many branches at once (workflows/engine/pump.py).
POIMEN_WORKERS = env.whole_number("POIMEN_WORKERS", default=2, least=1, most=256)
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

POIMEN_PUMP_THREADS = env.whole_number("POIMEN_PUMP_THREADS", default=32, least=1, most=1_000)
POIMEN_PUMP_CAPACITY = env.whole_number("POIMEN_PUMP_CAPACITY", default=256, least=1, most=100_000)
POIMEN_ACTIVITY_PROCESSES = env.whole_number("POIMEN_ACTIVITY_PROCESSES", default=8, least=1, most=256)
POIMEN_LEASE_SECONDS = env.number("POIMEN_LEASE_SECONDS", default=10.0, least=1.0, most=3600.0)
POIMEN_RETENTION_DAYS = env.whole_number("POIMEN_RETENTION_DAYS", default=30, least=-36_500, most=36_500)
# Results that are kept for a customer, in MiB; 0: none are kept.
POIMEN_CACHE_MEGABYTES = env.whole_number("POIMEN_CACHE_MEGABYTES", default=256, least=0, most=1_000_000)
POIMEN_AUTO_APPROVE = env.switch("POIMEN_AUTO_APPROVE", default=False) and ENVIRONMENT != "production"
POIMEN_TEST_ACTIVITIES = env.switch("POIMEN_TEST_ACTIVITIES", default=False)
if POIMEN_TEST_ACTIVITIES and ENVIRONMENT == "production":
    raise SettingError(
        "ENVIRONMENT=production refuses POIMEN_TEST_ACTIVITIES: its activities fail, hang and resist on purpose."
    )

# Where activities may read and reach (contract-activities 16).
POIMEN_REPO_ROOTS = env.directories("POIMEN_REPO_ROOTS", default=[BASE_DIR, POIMEN_HOME])
POIMEN_ALLOWED_PRIVATE_HOSTS = env.words(
    "POIMEN_ALLOWED_PRIVATE_HOSTS", default=[], each=is_host, expected="hosts, each perhaps with a port"
)

# Lets DeploymentPreCheckActivity run a repository's code where it cannot be kept from the machine's files and network.
POIMEN_UNCONFINED_CHECKS = env.switch("POIMEN_UNCONFINED_CHECKS", default=False)

# What activities talk to. Without EMAIL_URL there is no host, and no mail is sent.
_mail = mail_server(env)
EMAIL_HOST, EMAIL_PORT = _mail["host"], _mail["port"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["user"], _mail["password"]
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail["starttls"], _mail["tls"]
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = _mail["sender"]
POIMEN_WEBHOOKS = notification_webhooks(env)
POIMEN_ARCHIVES = archives(env, home=POIMEN_HOME)
POIMEN_AUTHORIZATION = authorization_servers(env)
POIMEN_MEMORY_URL, POIMEN_MEMORY_TOKEN = memory_service(env)

# The language model (contract-router-and-llm 2).
LOCAL_LLM_BASE_URL = llm_settings.base_url("LOCAL_LLM_BASE_URL", env.text("LOCAL_LLM_BASE_URL", default=""))
LOCAL_LLM_API_KEY = env.text("LOCAL_LLM_API_KEY", default="")
POIMEN_LLM_MODELS = llm_settings.models_by_alias(
    env.words(
        "POIMEN_LLM_MODELS",
        default=list(llm_settings.DEFAULT_MODELS),
        each=llm_settings.is_model,
        expected="names of models, each perhaps as name=model",
    )
)
POIMEN_LLM_CONCURRENCY = llm_settings.limits_by_alias(
    env.words(
        "POIMEN_LLM_CONCURRENCY", default=[], each=llm_settings.is_limit, expected="numbers, some as model=number"
    ),
    default=16,
)
POIMEN_LLM_REQUESTS_PER_MINUTE = llm_settings.limits_by_alias(
    env.words(
        "POIMEN_LLM_REQUESTS_PER_MINUTE", default=[], each=llm_settings.is_limit,
        expected="numbers, some as model=number",
    ),
    default=0,
)  # fmt: skip
POIMEN_LLM_TIMEOUT_SECONDS = env.number("POIMEN_LLM_TIMEOUT_SECONDS", default=110.0, least=1.0, most=3600.0)
POIMEN_LLM_ANSWER_TOKENS = env.whole_number("POIMEN_LLM_ANSWER_TOKENS", default=8_192, least=1, most=1_000_000)
POIMEN_LLM_RETENTION_DAYS = env.whole_number("POIMEN_LLM_RETENTION_DAYS", default=30, least=-36_500, most=36_500)

# What a scraper of /metrics shows; without it they are told on this machine only.
POIMEN_METRICS_TOKEN = env.text("POIMEN_METRICS_TOKEN", default="")

DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
CSRF_FAILURE_VIEW = "poimen_site.errors.csrf_failure"
LOGIN_URL = "/ui/sign-in"

SECURE_CONTENT_TYPE_NOSNIFF = True
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT == "production"
# In production everything but probes and metrics is HTTPS. The proxy that speaks TLS says so in X-Forwarded-Proto,
# which is believed only if there is one (POIMEN_PROXIES).
SECURE_SSL_REDIRECT = env.switch("POIMEN_HTTPS", default=ENVIRONMENT == "production")
SECURE_REDIRECT_EXEMPT = ["^health", "^metrics$"]
SECURE_HSTS_SECONDS = env.whole_number("POIMEN_HSTS_SECONDS", default=86_400, least=0, most=63_072_000)
if REST_FRAMEWORK["NUM_PROXIES"]:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Whether other host names of the domain speak HTTPS too is not for Poimen to say.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
X_FRAME_OPTIONS = "DENY"

LOG_LEVEL = env.choice("LOG_LEVEL", ("debug", "info", "warning", "error"), default="info").upper()

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"refusals": {"()": "poimen_site.middleware.RefusalsWithoutTraceback"}},
    "formatters": {
        "line": {
            "()": "poimen_site.observability.logs.LineFormatter",
            "style": env.choice(
                "LOG_FORMAT", ("json", "console"), default="json" if ENVIRONMENT == "production" else "console"
            ),
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["refusals"]}},
    # What these say about themselves at INFO is noise beside what the work has to say; httpcore even tells headers.
    "loggers": {
        name: {"level": LOG_LEVEL if LOG_LEVEL == "ERROR" else "WARNING"}
        for name in ("django-q", "daphne", "httpx", "httpcore")
    }
    # 4xx are in the line that each request leaves (poimen_site.middleware.RequestLogMiddleware).
    | {name: {"level": "ERROR"} for name in ("psycopg.pool", "django.request")}
    | {name: {"level": LOG_LEVEL} for name in ("agents", "canvas", "memory", "poimen", "poimen_site", "workflows")},
    # At DEBUG libraries tell whole requests, with headers, signatures and ids of keys: none of them does so here.
    "root": {"handlers": ["console"], "level": "INFO" if LOG_LEVEL == "DEBUG" else LOG_LEVEL},
}
