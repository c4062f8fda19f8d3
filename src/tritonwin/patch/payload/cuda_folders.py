"""Appended to backends/nvidia/driver.py: where cuda.lib lies on Windows."""


def _tritonwin_cuda_folders() -> "list[str]":
    """The folders that hold cuda.lib, the import library of nvcuda.dll; the first one is taken."""
    import glob
    import os
    import sys
    import sysconfig

    site = sysconfig.get_paths()["platlib"]
    roots = [
        os.path.dirname(os.path.abspath(__file__)),
        os.environ.get("CUDA_PATH", ""),
        os.environ.get("CUDA_HOME", ""),
        *sorted(glob.glob(os.path.join(glob.escape(site), "nvidia", "cu*"))),
        os.path.join(sys.prefix, "Library"),
    ]
    installed = os.path.join(
        os.environ.get("ProgramFiles", "C:\\Program Files"),
        "NVIDIA GPU Computing Toolkit", "CUDA", "v*",
    )  # fmt: skip

    def version(folder: str) -> "list[int]":
        return [int(part) for part in os.path.basename(folder)[1:].split(".") if part.isdigit()]

    roots += sorted(glob.glob(installed), key=version, reverse=True)
    folders = [os.path.join(root, *below) for root in roots if os.path.isabs(root)
               for below in (("lib", "x64"), ("lib",))]  # fmt: skip
    found = [folder for folder in folders if os.path.isfile(os.path.join(folder, "cuda.lib"))]
    return list(dict.fromkeys(found))
