"""The Windows registry behind one small interface, so that finders run on any OS."""

from __future__ import annotations

import sys

Value = str | int


class Registry:
    """Read-only registry; this one is empty, as where there is no Windows.

    Keys are spelled `HKLM\\SOFTWARE\\...`; names are case-insensitive. `view` is 64 or 32
    (WOW6432Node). What is absent or cannot be read is left out.
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


if sys.platform == "win32":
    import winreg

    _HIVES = {"HKLM": winreg.HKEY_LOCAL_MACHINE, "HKCU": winreg.HKEY_CURRENT_USER}
    _VIEWS = {64: winreg.KEY_WOW64_64KEY, 32: winreg.KEY_WOW64_32KEY}

    class WindowsRegistry(Registry):
        """The real registry of this machine."""

        @staticmethod
        def _open(key: str, view: int) -> winreg.HKEYType | None:
            hive, _, path = key.partition("\\")
            try:
                return winreg.OpenKey(_HIVES[hive], path, 0, winreg.KEY_READ | _VIEWS[view])
            except OSError:
                return None

        def subkeys(self, key: str, *, view: int = 64) -> tuple[str, ...]:
            handle = self._open(key, view)
            if handle is None:
                return ()
            with handle:
                count = winreg.QueryInfoKey(handle)[0]
                return tuple(winreg.EnumKey(handle, i) for i in range(count))

        def values(self, key: str, *, view: int = 64) -> dict[str, Value]:
            handle = self._open(key, view)
            if handle is None:
                return {}
            found: dict[str, Value] = {}
            with handle:
                for i in range(winreg.QueryInfoKey(handle)[1]):
                    name, data, _ = winreg.EnumValue(handle, i)
                    if isinstance(data, (str, int)):
                        found[name] = data
            return found


def this_registry() -> Registry:
    """The registry of the running machine."""
    if sys.platform == "win32":
        return WindowsRegistry()
    return Registry()
