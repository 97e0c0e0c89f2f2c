"""Settings of the administrator in every attack, with their files."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.attacks.cluster import Material
from benchmarks.attacks.marks import GLOBAL, PAGE


def settings(folder: Path, material: Material) -> Mapping[str, str]:
    """Write the files to a folder. Returns: variables."""
    files = {
        "site.pem": material.site.certificate + material.site.key,
        "clients.pem": material.site.issuer,
        "503.http": f"HTTP/1.0 503 Down\r\nX-Page: {PAGE}\r\n\r\nnobody is here\n",
    }
    for name, text in files.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text)
    return {
        "DEFAULT_CERTIFICATE_PATH": str(folder / "site.pem"),
        "ROUTER_MUTUAL_TLS_AUTH": "optional",
        "ROUTER_MUTUAL_TLS_AUTH_CA": str(folder / "clients.pem"),
        "ROUTER_ERRORFILE_503": str(folder / "503.http"),
        "ROUTER_ENABLE_COMPRESSION": "true",
        "ROUTER_CIPHERS": "intermediate",
        "SSL_MIN_VERSION": "TLSv1.2",
        "ROUTER_LOAD_BALANCE_ALGORITHM": "leastconn",
        "ROUTER_HTTP_RESPONSE_HEADERS": f"X-Global:{GLOBAL}:Set",
    }
