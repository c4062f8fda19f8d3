"""The import-time front end: Triton's sources are patched as they are loaded.

`install` makes one file and a `.pth` and puts them into a target, `apply` edits a source, and
`runtime` is what then runs there.
"""
