"""Exit statuses of Windows processes in words."""

from __future__ import annotations

# From the "NTSTATUS Values" reference of Microsoft's open specifications.
NAMES = {
    0x80000003: "breakpoint",
    0xC0000005: "access violation",
    0xC0000017: "no memory",
    0xC000001D: "illegal instruction",
    0xC000007B: "invalid image format: 32 and 64 bit mixed",
    0xC00000FD: "stack overflow",
    0xC0000135: "a DLL was not found",
    0xC0000138: "a DLL lacks an ordinal",
    0xC0000139: "a DLL lacks a function",
    0xC0000142: "a DLL failed to initialise",
    0xC0000374: "heap corruption",
    0xC0000409: "fail fast: the process ended itself",
    0xC06D007E: "a delay-loaded DLL was not found",
    0xC06D007F: "a delay-loaded DLL lacks a function",
}


def describe_exit(code: int) -> str:
    """Say an exit code: "exit 1", "0xC0000005 (access violation)", "signal 9"."""
    if -64 <= code < 0:
        return f"signal {-code}"
    unsigned = code & 0xFFFFFFFF
    if unsigned >= 0x80000000:
        name = NAMES.get(unsigned)
        return f"0x{unsigned:08X} ({name})" if name else f"0x{unsigned:08X}"
    return f"exit {code}"
