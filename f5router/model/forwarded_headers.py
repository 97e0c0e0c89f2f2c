"""Policies for the headers by which pods know the client: X-Forwarded-... and Forwarded.

Source: openshift/router, haproxy-config.template (setForwardedHeadersPattern).
"""

APPEND, REPLACE, IF_NONE, NEVER = "append", "replace", "if-none", "never"
POLICIES = (APPEND, REPLACE, IF_NONE, NEVER)
"""Add headers to those that the client sent; replace these; add those that it did not send; add none."""
