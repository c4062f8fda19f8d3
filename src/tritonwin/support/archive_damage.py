"""What Python's readers of zip and tar files raise on damaged ones, besides OSError.

And how a member of a zip is opened so that it takes no more memory than is read of it.
"""

from __future__ import annotations

import struct
import tarfile
import zipfile
import zlib
from typing import IO

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


def opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """The content of a member, to be read in parts of a size.

    Raises:
        NotImplementedError (of DAMAGE): packed by bzip2 or LZMA, of which Python unpacks all that
            it has read at once: a megabyte may become 20 GB, whatever size the archive tells.
    """
    if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise NotImplementedError(
            f"{member.filename} is packed in a way that no wheel and no package is"
        )
    return archive.open(member)
