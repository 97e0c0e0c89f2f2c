"""A real OpenSSH server for tests: own configuration and host keys, current user, keys only."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import threading
from pathlib import Path

KINDS = ("rsa", "ecdsa", "ed25519")
CONFIG = """\
ListenAddress 127.0.0.1
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 200
UseDNS no
LogLevel VERBOSE
SetEnv SHLVL=2
"""
# With that SHLVL bash does not read the user's .bashrc, which may be slow or print something.


def require(program: str) -> str:
    """Path of a program. Raises: AssertionError: it is missing, with what to install."""
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")
    assert path, f"{program} is missing: install the Debian packages openssh-server and openssh-client"
    return path


class OpenSSH:
    """sshd on a free port of 127.0.0.1.

    Attributes:
        port, username: where and as whom to log in.
        known_hosts: text of a known_hosts file with all host keys.
        fingerprints: kind ("rsa") to "SHA256:...", as ssh-keygen prints it.
    """

    def __init__(self, folder: Path):
        self._sshd, keygen = require("sshd"), require("ssh-keygen")
        self._folder = folder
        self.username = pwd.getpwuid(os.getuid()).pw_name
        self.fingerprints: dict[str, str] = {}
        self._public_keys: list[str] = []
        for kind in KINDS:
            path = folder / f"host_{kind}"
            subprocess.run([keygen, "-q", "-t", kind, "-N", "", "-f", path], check=True)
            listed = subprocess.run([keygen, "-l", "-f", path], check=True, capture_output=True, text=True)
            self.fingerprints[kind] = listed.stdout.split()[1]
            self._public_keys.append(" ".join(Path(f"{path}.pub").read_text().split()[:2]))
        self._authorized = folder / "authorized_keys"
        self._authorized.touch()
        if os.getuid() == 0:  # where a root sshd locks its unprivileged half up
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        self.log: list[str] = []
        self._start()

    @property
    def known_hosts(self) -> str:
        return "".join(f"[127.0.0.1]:{self.port} {key}\n" for key in self._public_keys)

    def authorize(self, public_key_line: str) -> None:
        with self._authorized.open("a") as keys:
            keys.write(f"{public_key_line}\n")

    def drop_connections(self) -> None:
        """Kill the processes that serve connections, as a restart of sshd on a BIG-IP does."""
        for pid in _children(self._process.pid):
            for each in (*_children(pid), pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, 9)

    def stop(self) -> None:
        self.drop_connections()
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _start(self) -> None:
        for _ in range(5):  # another process may take the port first
            with socket.create_server(("127.0.0.1", 0)) as probe:
                self.port = probe.getsockname()[1]
            config = self._config()
            self._process = subprocess.Popen([self._sshd, "-D", "-e", "-f", config], text=True,
                                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for line in self._process.stderr:
                self.log.append(line)
                if "Server listening" in line:
                    self._reader = threading.Thread(target=self.log.extend, args=(self._process.stderr,))
                    self._reader.start()
                    return
            self._process.wait()
        raise AssertionError(f"sshd does not start: {''.join(self.log)}")

    def _config(self) -> Path:
        config = self._folder / "sshd_config"
        text = f"{CONFIG}Port {self.port}\nAuthorizedKeysFile {self._authorized}\n"
        text += "".join(f"HostKey {self._folder}/host_{kind}\n" for kind in KINDS)
        # From 9.8 on sshd locks out an address after refused logins, which tests provoke.
        for option in ("PerSourcePenalties no\n", ""):
            config.write_text(text + option)
            if subprocess.run([self._sshd, "-t", "-f", config], capture_output=True).returncode == 0:
                break
        return config


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
