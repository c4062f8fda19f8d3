"""The search of Windows for DLLs, and the content of their files."""
