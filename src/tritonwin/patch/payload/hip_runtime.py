"""Appended to backends/amd/driver.py: where the HIP runtime lies on Windows."""


def _tritonwin_hip_runtime() -> str:
    """The path of amdhip64*.dll, as it is pasted into C: its backslashes doubled."""
    import glob
    import os
    import sysconfig

    chosen = os.environ.get("TRITON_LIBHIP_PATH", "")
    site = sysconfig.get_paths()["platlib"]
    folders = [
        os.path.join(site, "_rocm_sdk_core", "bin"),
        os.path.join(site, "torch", "lib"),
        os.path.join(os.environ.get("HIP_PATH", ""), "bin"),
        os.path.join(os.environ.get("ROCM_PATH", ""), "bin"),
        os.path.join(os.environ.get("SystemRoot", "C:\\Windows"), "System32"),
    ]
    paths = [chosen] if chosen else []
    for folder in folders:
        if os.path.isabs(folder):
            names = glob.glob(os.path.join(glob.escape(folder), "amdhip64*.dll"))
            paths += sorted(names, reverse=True)
    found = next((path for path in paths if os.path.isfile(path)), None)
    if found is None:
        raise RuntimeError(f"cannot locate amdhip64.dll after attempted paths {paths or folders}")
    return os.path.abspath(found).replace("\\", "\\\\")
