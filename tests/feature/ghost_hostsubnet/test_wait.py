"""ghost-hostsubnet waits for the SDN master."""

import re
import signal

import pytest

from tests.feature.ghost_hostsubnet.conftest import CREATE
from tests.waiting import DEADLINE_S, until


class TestWait:
    def test_nobody_answers(self, still):
        """A time-out tells what to look at; the object stays, and another run goes on waiting."""
        done = still.run(*CREATE, "--timeout", "1s")
        assert (done.exit_code, done.stdout) == (1, "")
        assert "after 1 s the HostSubnet waits for the SDN master; is the SDN master running?" in done.stderr
        still.kube.clear_log()
        assert still.run(*CREATE, "--timeout", "1s").exit_code == 1
        assert still.writes() == []

    def test_not_created_again(self, lab):
        """No subnet is free: the SDN master deletes it, and that is all."""
        lab.put("ClusterNetwork", "default",
                clusterNetworks=[{"CIDR": "10.1.0.0/23", "hostSubnetLength": 9}])
        lab.ghost(name="other", host_ip="10.3.89.1", subnet="10.1.0.0/23")

        def waited_long_enough() -> bool:
            """True if the time-out came after the deletion; on a slow machine it may not."""
            done = lab.run(*CREATE, "--timeout", "1s")
            assert (done.exit_code, done.stdout) == (1, "")
            return "deleted it and not created it again yet; the log of the SDN master has" in done.stderr

        until(waited_long_enough)
        assert lab.get() is None

    def test_not_a_new_object(self, still):
        """Somebody wrote a subnet into it: nodes do not see that, so it does not count."""
        process = still.start(*CREATE)
        assert still.kube.wait_for(lambda: still.kube.watches)
        still.ghost()
        _, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "was not created again by the SDN master" in err) == (1, True), err

    def test_progress(self, still):
        """A line every few seconds, on standard error."""
        process = still.start(*CREATE, "--timeout", "6s")
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, out) == (1, "")
        assert re.search(r"still waiting, \d+ s of 6 s: the HostSubnet waits for the SDN master", err), err

    def test_interrupted(self, still):
        process = still.start(*CREATE)
        assert still.kube.wait_for(lambda: still.kube.watches)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 1
        assert "is left unchanged; run the same command to keep waiting" in err

    @pytest.mark.parametrize(("fault", "options"), [
        pytest.param("503", {"method": "watch", "times": 2}, id="refused"),
        pytest.param("410", {"method": "watch"}, id="too old"),
        pytest.param("error-event", {"code": "410"}, id="too old, in the stream"),
        pytest.param("truncated", {}, id="cut off"),
        pytest.param("silent-drop", {}, id="silence"),
    ])
    def test_trouble(self, still, fault, options):
        """A watch that goes wrong costs only time."""
        still.kube.inject(fault, **options)
        process = still.start(*CREATE)
        assert still.kube.wait_for(
            lambda: len([call for call in still.kube.log if "watch" in call.query]) > 1)  # the fault was met
        still.kube.start_sdn()
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "10.128.0.0/23" in out) == (0, True), err
        assert len(still.writes()) == 1

    def test_lost_reply(self, lab):
        """It may have been created; the same command finds out, and creates no second one."""
        lab.kube.inject("drop", method="POST", applied=True)
        done = lab.run(*CREATE)
        assert done.exit_code == 1
        assert "may have been created or not" in done.stderr
        again = lab.run(*CREATE)
        assert (again.exit_code, len(lab.kube.list("HostSubnet"))) == (0, 1)
        assert lab.get()["subnet"] == "10.128.0.0/23"
