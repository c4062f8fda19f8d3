"""Whether an extension that was compiled for one torch loads into another.

The rule: the same series of torch, or a newer one where the extension uses libtorch's stable ABI;
the same CUDA major version (its minor versions are compatible); `cxx11abi` means nothing on
Windows. A wheel that keeps the rule can still fail, so an import in the target is the proof.
"""

from __future__ import annotations

from tritonwin.support.versions import older, series
from tritonwin.support.wheel_names import BuiltFor


def misfit(built_for: BuiltFor, torch: str, cuda: str | None) -> str | None:
    """Why it does not load, in words; None where the rule is kept or nothing is known.

    Args:
        built_for: from the extension's own name.
        torch: version of the torch it has to load into, "2.9.1+cu128".
        cuda: the CUDA that this torch was built for, "12.8"; None where it was built for none.
    """
    have, wants = series(torch), series(built_for.torch or "")
    if have and wants:
        if built_for.newer_torch and older(have, wants):
            return f"needs torch {wants} or later, this is torch {have}"
        if not built_for.newer_torch and have != wants:
            return f"needs torch {wants}, this is torch {have}"
    if built_for.cuda and cuda:
        major, has_major = built_for.cuda.split(".")[0], cuda.split(".")[0]
        if major != has_major:
            return f"needs CUDA {major}, this torch is built for CUDA {has_major}"
    return None
