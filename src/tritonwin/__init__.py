"""Triton, torch.compile and FlashAttention on Windows: diagnose, repair, prove."""

__version__ = "0.1.0"
STATUS = (
    "Early version. Tested on Windows Pythons under Wine and on Linux GPUs, not yet on a real "
    "Windows PC. doctor only reads; every fix can be undone."
)
# The commands by use, each with its help in one line. Each is a module of tritonwin.cli that holds
# a click command called `command`.
COMMAND_GROUPS = {
    "To repair": {
        "doctor": "Find what keeps Triton from working; changes nothing",
        "fix": "Repair it: a plan first, then the proof",
        "verify": "Prove that Triton works, from the ground up",
        "explain": "Find the cause of a failure in a log",
        "snapshot": "Write facts of this PC to a file, without secrets",
        "guard": "Keep what was proven: pip must not replace it",
        "undo": "Undo what tritonwin changed, byte for byte",
        "ui": "Do all this on a page in the browser",
        "mcp": "Let an assistant look and plan; you agree on the page",
    },
    "To install and to build": {
        "install": "Install the wheels that fit this Python and GPU",
        "build": "Build a wheel of flash-attn, triton ... from source",
        "matrix": "Show which torch, Triton, Python, CUDA and GPU fit",
    },
    "For Triton without a compiler, or not made for Windows": {
        "run": "Start a Python with the environment it needs",
        "driver": "Let Triton launch kernels without a C compiler",
        "patch": "Make Triton's own sources work on Windows",
        "cache": "List or clear the caches of compiled kernels",
    },
    "To look closer": {
        "dlls": "Show which DLLs a file needs, and what is missing",
        "bench": "Measure how fast Triton is here",
        "demo": "Show doctor at work on broken machines",
    },
}
COMMANDS = tuple(name for group in COMMAND_GROUPS.values() for name in group)
