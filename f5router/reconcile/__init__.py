"""Reconciliation: applies plans, retries refusals, and keeps what still serves."""
