"""A fake BIG-IP that speaks iControl REST over HTTPS, for tests and for trying the router."""

from mocks.bigip.quirks import Quirk
from mocks.bigip.refusals import Refusal
from mocks.bigip.requests import LoggedRequest
from mocks.bigip.server import PASSWORD, USERNAME, FakeBigIP
from mocks.bigip.store import DiskFile, Store

__all__ = ["PASSWORD", "USERNAME", "DiskFile", "FakeBigIP", "LoggedRequest", "Quirk", "Refusal", "Store"]
