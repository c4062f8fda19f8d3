"""Triton's driver module in Python instead of compiled C, carried into a target by the import hook.

`payload` is what runs in the target, `carry` puts it there and takes it out.
"""
