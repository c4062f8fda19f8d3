"""Which of the user's PIP_* variables count when tritonwin runs pip.

Heeded is what says how packages are reached, and in which versions they are allowed. The others say
where and how the user's own `pip install` puts things (PIP_TARGET, PIP_USER, PIP_ROOT, PIP_PYTHON,
PIP_DRY_RUN ...): ours would put them there too, or nowhere, and say that it had.
"""

from __future__ import annotations

from collections.abc import Mapping

PLACES = frozenset({"INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX"})
CONSTRAINT = "CONSTRAINT"
_HEEDED = PLACES | frozenset(
    {
        "CACHE_DIR",
        "CERT",
        "CLIENT_CERT",
        "CONFIG_FILE",
        CONSTRAINT,
        "DEFAULT_TIMEOUT",
        "ISOLATED",
        "KEYRING_PROVIDER",
        "NO_CACHE_DIR",
        "PROXY",
        "RESUME_RETRIES",
        "RETRIES",
        "TIMEOUT",
        "TRUSTED_HOST",
        "USE_DEPRECATED",
        "USE_FEATURE",
    }
)
# A pip.ini may hold these as well; variables come before every file.
_SWITCHES = {
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_DRY_RUN": "0",
    "PIP_QUIET": "0",
    "PIP_REQUIRE_HASHES": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_USER": "0",
    "PIP_VERBOSE": "0",
}


def environment(ours: Mapping[str, str], settled: frozenset[str] = frozenset()) -> dict[str, str]:
    """The variables for pip.

    Args:
        settled: names without their PIP_ that do not count either: the arguments say it all.
    """
    heeded = _HEEDED - settled
    # PYTHONPATH and PYTHONHOME of our own process are none of the target's business
    kept = {
        name: value
        for name, value in ours.items()
        if name not in {"PYTHONPATH", "PYTHONHOME"}
        and (not name.startswith("PIP_") or name.removeprefix("PIP_") in heeded)
    }
    with_index = {"PIP_NO_INDEX": "0"} if "NO_INDEX" in settled else {}
    # what pip says is read, not shown: in a narrow window it would break addresses in two
    return {**kept, **_SWITCHES, **with_index, "PYTHONUTF8": "1", "COLUMNS": "200"}
