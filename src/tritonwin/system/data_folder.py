"""The folder of tritonwin's lasting data: journals, and what was proven."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_dir

from tritonwin.system.host import Environment

VARIABLE = "TRITONWIN_HOME"


def data_folder(environment: Environment) -> Path:
    """`%LOCALAPPDATA%\\tritonwin`, `~/.local/share/tritonwin`.

    The variable TRITONWIN_HOME names another folder, for a home that cannot be written.
    """
    named = environment.folder(VARIABLE)
    return (named or Path(user_data_dir("tritonwin", appauthor=False))).absolute()
