"""Redaction of names, identifiers and secrets in all that leaves the machine."""
