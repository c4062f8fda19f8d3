"""The Windows registry behind one small interface, so that finders run on any OS."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import Literal, get_args

Value = str | int
RegistryKind = Literal["REG_SZ", "REG_EXPAND_SZ", "REG_DWORD"]


@dataclass(frozen=True, kw_only=True)
class RegistryValue:
    """A value of a kind that variables and settings of Windows have."""

    kind: RegistryKind = "REG_SZ"
    data: Value


class Registry:
    """A registry; this one is empty and takes nothing, as where there is no Windows.

    Keys are spelled `HKLM\\SOFTWARE\\...`; names are case-insensitive. `view` is 64 or 32
    (WOW6432Node). What is absent or cannot be read is left out, but for `stored` and `store`: they
    raise OSError, and PermissionError where administrator rights are needed.
    """

    def subkeys(self, key: str, *, view: int = 64) -> tuple[str, ...]:
        """Names of the keys below `key`."""
        del key, view
        return ()

    def values(self, key: str, *, view: int = 64) -> dict[str, Value]:
        """All strings and numbers of the key. A key's default value has an empty name."""
        del key, view
        return {}

    def value(self, key: str, name: str, *, view: int = 64) -> Value | None:
        lowered = {k.lower(): v for k, v in self.values(key, view=view).items()}
        return lowered.get(name.lower())

    def stored(self, key: str, name: str) -> RegistryValue | None:
        """The value with its kind; None where key or value are absent."""
        del key, name
        return None

    def store(self, key: str, name: str, value: RegistryValue | None) -> None:
        """Write a value; None removes it."""
        del name, value
        raise OSError(f"this system has no registry to write {key} into")

    def announce(self) -> None:
        """Tell running programs (Explorer) that variables changed, as `setx` does."""


if sys.platform == "win32":
    import ctypes
    import winreg

    _HIVES = {"HKLM": winreg.HKEY_LOCAL_MACHINE, "HKCU": winreg.HKEY_CURRENT_USER}
    _VIEWS = {64: winreg.KEY_WOW64_64KEY, 32: winreg.KEY_WOW64_32KEY}
    _NUMBERS: dict[RegistryKind, int] = {k: getattr(winreg, k) for k in get_args(RegistryKind)}
    _KINDS = {number: kind for kind, number in _NUMBERS.items()}

    def _split(key: str) -> tuple[int, str]:
        hive, _, path = key.partition("\\")
        return _HIVES[hive], path

    def _opened(key: str, view: int = 64) -> winreg.HKEYType:
        return winreg.OpenKey(*_split(key), 0, winreg.KEY_READ | _VIEWS[view])

    class WindowsRegistry(Registry):
        """The real registry of this machine."""

        def subkeys(self, key: str, *, view: int = 64) -> tuple[str, ...]:
            with contextlib.suppress(OSError), _opened(key, view) as handle:
                count = winreg.QueryInfoKey(handle)[0]
                return tuple(winreg.EnumKey(handle, i) for i in range(count))
            return ()

        def values(self, key: str, *, view: int = 64) -> dict[str, Value]:
            found: dict[str, Value] = {}
            with contextlib.suppress(OSError), _opened(key, view) as handle:
                for i in range(winreg.QueryInfoKey(handle)[1]):
                    name, data, _ = winreg.EnumValue(handle, i)
                    if isinstance(data, (str, int)):
                        found[name] = data
            return found

        def stored(self, key: str, name: str) -> RegistryValue | None:
            try:
                with _opened(key) as handle:
                    data, number = winreg.QueryValueEx(handle, name)
            except FileNotFoundError:
                return None
            if number not in _KINDS:
                raise OSError(f"{key}\\{name} has type {number}, which cannot be restored")
            return RegistryValue(kind=_KINDS[number], data=data)

        def store(self, key: str, name: str, value: RegistryValue | None) -> None:
            access = winreg.KEY_SET_VALUE | _VIEWS[64]
            with winreg.CreateKeyEx(*_split(key), 0, access) as handle:
                if value is not None:
                    winreg.SetValueEx(handle, name, 0, _NUMBERS[value.kind], value.data)
                    return
                with contextlib.suppress(FileNotFoundError):
                    winreg.DeleteValue(handle, name)

        def announce(self) -> None:
            everybody, setting_change, abort_if_hung = 0xFFFF, 0x001A, 0x0002
            ctypes.windll.user32.SendMessageTimeoutW(
                everybody, setting_change, None, "Environment", abort_if_hung, 200, None
            )


def this_registry() -> Registry:
    """The registry of the running machine."""
    if sys.platform == "win32":
        return WindowsRegistry()
    return Registry()
