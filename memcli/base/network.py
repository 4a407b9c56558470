"""The only place that uses the network: one request to the one host that is named. Nothing else is ever contacted.

No redirect is followed and no proxy of the environment is used, so that what is sent reaches that host or nobody.
"""

import http.client
import time
from urllib.parse import urlsplit

from memcli.base import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from urllib.parse import SplitResult

MOST_BYTES = 64 << 20
_PIECE = 1 << 16
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def post(url: str, body: bytes, *, token: str = "", timeout_seconds: float = 10.0) -> bytes:
    """The answer to one POST of a JSON document. token: a secret for the host, sent as a bearer token over TLS only, or
    to this machine.

    Raises UsageError for a URL that is none of http or https, and for a token that would go out in clear; SystemFailure
    when the host cannot be reached, takes longer than the time allowed, says more than 64 MiB, or answers anything but
    200. No message holds the token, what was sent, or what came back.
    """
    place = _place(url)
    if token and place.scheme != "https" and place.hostname not in _THIS_MACHINE:
        raise errors.UsageError("a key is not sent over plain http", hint="name an https address")
    deadline = time.monotonic() + timeout_seconds
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "memcli"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    path = f"{place.path or '/'}?{place.query}" if place.query else place.path or "/"
    con = _connection(place, timeout_seconds)
    try:
        con.request("POST", path, body, headers)
        answer = con.getresponse()
        if answer.status != 200:
            raise errors.SystemFailure(f"{place.hostname} answered {answer.status}")
        return _all(answer, deadline, place)
    except (OSError, http.client.HTTPException, ValueError) as e:  # ValueError: a token or path that no header holds
        why = getattr(e, "strerror", None) or type(e).__name__
        raise errors.SystemFailure(f"cannot ask {place.hostname}: {why}") from None
    finally:
        con.close()


def _place(url: str) -> "SplitResult":
    try:
        place = urlsplit(url)
        good = place.scheme in ("http", "https") and bool(place.hostname) and place.port != 0
    except ValueError:
        good = False
    if not good or place.username is not None:
        raise errors.UsageError("this is no address of a host", hint="as in https://api.example.org/v1")
    return place


def _connection(place: "SplitResult", timeout_seconds: float) -> http.client.HTTPConnection:
    assert place.hostname is not None
    if place.scheme == "http":
        return http.client.HTTPConnection(place.hostname, place.port, timeout=timeout_seconds)
    import ssl

    context = ssl.create_default_context()
    return http.client.HTTPSConnection(place.hostname, place.port, timeout=timeout_seconds, context=context)


def _all(answer: http.client.HTTPResponse, deadline: float, place: "SplitResult") -> bytes:
    """The whole answer. A host that goes on for ever, or sends a byte now and then, is left alone in time."""
    said = bytearray()
    while piece := answer.read1(_PIECE):
        said += piece
        if len(said) > MOST_BYTES or time.monotonic() > deadline:
            raise errors.SystemFailure(f"{place.hostname} took too long or said too much")
    return bytes(said)
