"""The import-time front end: Triton's sources are patched as they are loaded.

`generate` makes one file and a `.pth` of the rules, `install` puts them into a target, and
`runtime` is what then runs there.
"""
