"""The one place that speaks to an object store (S3 and what is like it): read, create if absent, compare and swap.

The bucket is the one that a URL names, the host and the credentials are those of the AWS_* variables. obstore is an
extra and is imported here alone. What a server says goes into no message: it may repeat keys.
"""

import os
import re
from datetime import datetime, timedelta

from memcli.base import errors
from memcli.base.value import Value, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")
_KEY, _SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
_TRUE = ("1", "true", "yes", "on")
_RETRIES = 2
_PATIENCE = timedelta(seconds=15)
_ONE_REQUEST = timedelta(seconds=60)


@value
class Object(Value):
    """What a listing says of one object: its name below the prefix, and when it was written."""

    name: str
    at: datetime


def address(url: str) -> tuple[str, str]:
    """Bucket and prefix of s3://BUCKET/PREFIX. Raises UsageError, which never repeats the URL."""
    lead, _, rest = url.partition("://")
    bucket, _, prefix = rest.strip("/").partition("/")
    if "@" in rest or "?" in rest or "#" in rest:
        raise errors.UsageError(
            "a URL of a fleet holds no credentials and no options", hint=f"set {_KEY} and {_SECRET} instead"
        )
    good = lead == "s3" and _BUCKET.fullmatch(bucket) and (not prefix or _PREFIX.fullmatch(prefix))
    if not good or {".", ".."} & set(prefix.split("/")):
        raise errors.UsageError("this is no address of a bucket", hint="as in s3://BUCKET/PREFIX")
    return bucket, prefix


class Bucket:
    """The objects below one prefix of one bucket. Every call raises SystemFailure when the store cannot be used."""

    __slots__ = ("_store", "url")

    def __init__(self, url: str) -> None:
        """Raises UsageError for an odd URL or environment, SystemFailure when obstore is not installed."""
        bucket, prefix = address(url)
        self.url = url
        try:
            from obstore.store import S3Store
        except ImportError:
            raise errors.SystemFailure("a fleet needs the package obstore", hint="pip install 'memcli[sync]'") from None
        config, http = _surroundings()
        self._store: Any = self._ask(
            lambda: S3Store(
                bucket,
                prefix=prefix or None,
                config=config,
                client_options={"allow_http": http, "timeout": _ONE_REQUEST, "connect_timeout": timedelta(seconds=10)},
                retry_config={"max_retries": _RETRIES, "retry_timeout": _PATIENCE},
            )
        )

    def read(self, name: str, most_bytes: int) -> tuple[bytes, str] | None:
        """An object and the tag of this version of it, None when it is not there. Raises BadData above most_bytes."""
        import obstore

        def fetch() -> "tuple[bytes | None, str]":
            found = obstore.get(self._store, name)
            if found.meta["size"] > most_bytes:
                return None, ""
            return bytes(found.bytes()), found.meta["e_tag"] or ""

        try:
            data, tag = self._ask(fetch)
        except errors.NotFound:
            return None
        if data is None or len(data) > most_bytes:
            raise errors.BadData(f"{name} is larger than {most_bytes} bytes", path=self.url, hint="who wrote it?")
        if not tag:
            raise errors.SystemFailure("the object store gives no ETag", path=self.url, hint="use one that does")
        return data, tag

    def create(self, name: str, data: bytes) -> bool:
        """Write an object that is not there yet; False when one is."""
        return self._put(name, data, "create")

    def swap(self, name: str, data: bytes, tag: str | None) -> bool:
        """Replace the version of an object that has this tag (None: none is there); False when it is another one now."""
        return self._put(name, data, "create" if tag is None else {"e_tag": tag})

    def names(self, folder: str) -> list[Object]:
        """All objects in a folder."""
        import obstore

        rows = self._ask(lambda: [row for part in obstore.list(self._store, folder) for row in part])
        return [Object(name=row["path"], at=row["last_modified"]) for row in rows]

    def delete(self, name: str) -> None:
        """Take an object away."""
        import obstore

        self._ask(lambda: obstore.delete(self._store, name))

    def _put(self, name: str, data: bytes, mode: "Any") -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def put() -> bool:
            try:
                obstore.put(self._store, name, data, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        return bool(self._ask(put))

    def _ask(self, call: "Callable[[], Any]") -> "Any":
        from obstore import exceptions as said

        try:
            return call()
        except FileNotFoundError:
            raise errors.NotFound("no such bucket or object", path=self.url, hint="make the bucket first") from None
        except (said.PermissionDeniedError, said.UnauthenticatedError):
            raise errors.SystemFailure(
                "the object store does not accept the credentials",
                path=self.url,
                hint=f"check {_KEY} and {_SECRET}, and what they may do in this bucket",
            ) from None
        except said.NotSupportedError:
            raise errors.SystemFailure("the object store has no conditional writes", path=self.url) from None
        except (said.BaseError, OSError, ValueError, TypeError):
            raise errors.SystemFailure(
                "cannot reach or use the object store", path=self.url, hint="check AWS_ENDPOINT_URL; try again later"
            ) from None


def _surroundings() -> "tuple[Any, bool]":
    """What the environment says, for obstore; and whether plain http is allowed. Only key pairs: asking the network for
    credentials would be asking a host that nobody has named."""
    env = os.environ
    if not env.get(_KEY) or not env.get(_SECRET):
        raise errors.UsageError("there are no credentials for the object store", hint=f"set {_KEY} and {_SECRET}")
    config = {"access_key_id": env[_KEY], "secret_access_key": env[_SECRET]}
    config["region"] = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    if env.get("AWS_SESSION_TOKEN"):
        config["session_token"] = env["AWS_SESSION_TOKEN"]
    host = env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or ""
    http = env.get("AWS_ALLOW_HTTP", "").lower() in _TRUE
    if host:
        if "@" in host or not host.startswith(("http://", "https://")):
            raise errors.UsageError("AWS_ENDPOINT_URL is no address of a host", hint="as in https://s3.example.org")
        if host.startswith("http://") and not http:
            raise errors.UsageError(
                "AWS_ENDPOINT_URL is plain http, where everybody on the way can read", hint="https, or AWS_ALLOW_HTTP=1"
            )
        config["endpoint"] = host.rstrip("/")
    return config, http
