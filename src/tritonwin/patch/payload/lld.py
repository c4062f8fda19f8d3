"""Appended to backends/amd/compiler.py: where ROCm's linker lies on Windows."""


def _tritonwin_lld() -> "str | None":
    """The path of ld.lld.exe; None if it was not found."""
    import os
    import sysconfig

    site = sysconfig.get_paths()["platlib"]
    roots = [
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "llvm"),
        os.path.join(site, "_rocm_sdk_core", "lib", "llvm"),
        os.environ.get("HIP_PATH", ""),
        os.path.join(os.environ.get("ROCM_PATH", ""), "llvm"),
        os.environ.get("ROCM_PATH", ""),
    ]
    paths = [os.path.join(root, "bin", "ld.lld.exe") for root in roots if os.path.isabs(root)]
    return next((path for path in paths if os.path.isfile(path)), None)
