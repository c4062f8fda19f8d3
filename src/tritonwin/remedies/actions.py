"""The remedies by their names in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from tritonwin.remedies import (
    build_wheel,
    distributions,
    headers,
    long_paths,
    patch_triton,
    shadow,
    site,
    stale_cache,
    variables,
    vc_runtime,
)
from tritonwin.remedies.remedy import Remedy

REMEDIES: Mapping[str, Remedy] = {
    "set-variable": variables.SET,
    "unset-variable": variables.UNSET,
    "rename-shadow": shadow.REMEDY,
    "remove-distribution": distributions.REMOVE,
    "install-distribution": distributions.INSTALL,
    "install-torch": distributions.INSTALL,
    "enable-site": site.REMEDY,
    "vc-runtime": vc_runtime.REMEDY,
    "python-headers": headers.REMEDY,
    "clear-cache": stale_cache.REMEDY,
    "enable-long-paths": long_paths.REMEDY,
    build_wheel.ACTION: build_wheel.REMEDY,
    "patch": patch_triton.REMEDY,
}
