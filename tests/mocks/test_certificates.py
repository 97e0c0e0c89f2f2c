"""Certificates of the fakes: each verifies itself alone, and a later fake has those of one that ended."""

from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from mocks.bigip import FakeBigIP
from mocks.kube import FakeKube
from tests.waiting import DEADLINE_S


def is_trusted(fake: FakeBigIP | FakeKube, ca_file: str) -> bool:
    try:
        requests.get(f"{fake.url}/version", timeout=DEADLINE_S, verify=ca_file)
    except requests.exceptions.SSLError:
        return False
    return True


@pytest.mark.parametrize("kind", [FakeBigIP, FakeKube])
def test_fakes_of_one_time_have_authorities_of_their_own(kind):
    for _ in range(2):  # the second time with those of before
        with kind() as first, kind() as second:
            files = [first.ca_file, second.ca_file]
            assert [[is_trusted(fake, file) for file in files] for fake in (first, second)] == [
                [True, False], [False, True]]
        assert not any(Path(file).exists() for file in files)


@pytest.mark.parametrize("kind", [FakeBigIP, FakeKube])
def test_a_fake_that_is_ended_twice_gives_its_certificate_back_once(kind):
    with ExitStack() as stack:
        ended = kind()
        for _ in range(2):
            ended.__exit__(None, None, None)
        authorities = [Path(stack.enter_context(kind()).ca_file).read_text() for _ in range(3)]
        assert len(set(authorities)) == 3
