"""Where uv is told to look for packages: its variables count for the environments that it made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tritonwin.support.pip import Places

_NAMED = re.compile(r"\A[\w.-]+=(?=[A-Za-z/.])")  # `torch=https://...` gives an index a name


def with_uv(places: Places, variables: Mapping[str, str]) -> Places:
    """pip's places, and before them what UV_DEFAULT_INDEX, UV_INDEX and UV_FIND_LINKS say.

    Of the older names, UV_INDEX_URL and UV_EXTRA_INDEX_URL, uv itself takes the newer ones first.
    """
    default = _of(variables, "UV_DEFAULT_INDEX", "UV_INDEX_URL")
    extra = _of(variables, "UV_INDEX", "UV_EXTRA_INDEX_URL")
    folders = _of(variables, "UV_FIND_LINKS")
    return replace(
        places,
        index=default[0] if default else places.index,
        extra_indexes=tuple(dict.fromkeys((*extra, *places.extra_indexes))),
        find_links=tuple(dict.fromkeys((*folders, *places.find_links))),
    )


def _of(variables: Mapping[str, str], *names: str) -> tuple[str, ...]:
    """The values of the first variable that is set, without the names of indexes."""
    value = next((v for name in names if (v := variables.get(name, "").strip())), "")
    parts = value.split("," if names[0] == "UV_FIND_LINKS" else None)
    return tuple(_NAMED.sub("", part.strip(), count=1) for part in parts if part.strip())
