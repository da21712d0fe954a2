"""What says that Redis is away. Its client is large, and imported only where there is a Redis."""

from django.conf import settings


def redis_errors() -> tuple[type[Exception], ...]:
    """The exceptions to catch; none without ``REDIS_URL``."""
    if not settings.REDIS_URL:
        return ()
    from redis.exceptions import RedisError

    return (RedisError,)
