"""SHA-256, from the interpreter's own module where it has one.

`hashlib` loads OpenSSL first, which costs a third of a bare Python start (`random` of the standard library goes round
it in the same way). The digests are the same.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256 as _sha256
else:
    try:
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as _sha256
        else:
            from _sha256 import sha256 as _sha256
    except ImportError:  # built without it, or another Python
        from hashlib import sha256 as _sha256


def binary(data: bytes) -> bytes:
    """The 32 bytes of the digest."""
    return _sha256(data).digest()


def hexadecimal(data: bytes) -> str:
    """The digest as 64 lower-case hexadecimal digits."""
    return _sha256(data).hexdigest()
