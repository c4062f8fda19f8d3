"""Triton, torch.compile and FlashAttention on Windows: diagnose, repair, prove."""

__version__ = "0.1.0"
# each is a module of tritonwin.cli that holds a click command called `command`
COMMANDS = (
    "doctor",
    "explain",
    "fix",
    "install",
    "matrix",
    "undo",
    "cache",
    "snapshot",
    "run",
    "verify",
    "build",
    "bench",
    "dlls",
    "patch",
    "driver",
    "demo",
    "completion",
)
