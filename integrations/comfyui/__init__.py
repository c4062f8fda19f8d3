"""tritonwin in ComfyUI: a line at the start and a tab in the sidebar. It reads and changes nothing.

ComfyUI imports this while it starts, so hardly anything is done here, and no failure leaves it.
"""

from __future__ import annotations

import logging
from typing import Any

NODE_CLASS_MAPPINGS: dict[str, Any] = {}  # ComfyUI skips a folder without them
WEB_DIRECTORY = "./web"

try:
    from .tab import begin

    begin()
except Exception as error:  # noqa: BLE001 - ComfyUI has to start
    log = logging.getLogger("tritonwin")
    log.warning("[tritonwin] there is no tab: %s: %s", type(error).__name__, error)
