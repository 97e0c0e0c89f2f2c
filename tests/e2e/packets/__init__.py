"""Proof with packets: hosts as network namespaces on one machine, HTTP through a real VxLAN."""
