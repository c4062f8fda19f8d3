"""What Python's readers of zip and tar files raise on damaged ones, besides OSError."""

from __future__ import annotations

import struct
import tarfile
import zipfile
import zlib

try:
    from lzma import LZMAError
except ImportError:  # a Python that was built without; it refuses such members with RuntimeError
    LZMAError = RuntimeError  # type: ignore[assignment,misc]

# Found by fuzzing. RuntimeError: a member with a password, or packed in a way that is not known.
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    LZMAError,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
    ArithmeticError,
    struct.error,
)
