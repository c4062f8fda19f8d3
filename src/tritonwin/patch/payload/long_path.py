"""Appended to runtime/cache.py: a path without Windows' limit of 260 characters."""


def _tritonwin_long_path(path: str) -> str:
    import os

    if os.name != "nt":
        return path
    path = os.path.abspath(path)
    if path.startswith(("\\\\?\\", "\\\\.\\")):
        return path
    return "\\\\?\\UNC\\" + path[2:] if path.startswith("\\\\") else "\\\\?\\" + path
