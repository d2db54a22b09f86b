"""Find Chromium for the browser tests, and install Debian's where that is nobody's own machine.

Usage: python chromium.py [--browser no]
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PACKAGES = ("chromium", "fonts-dejavu-core")
# without these the browser looks up its maker's hosts at every start
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find() -> str | None:
    """Path of a Chromium, the one that $CHROMIUM names first."""
    return next(filter(None, map(shutil.which, [os.environ.get("CHROMIUM", ""), *NAMES])), None)


def may_install() -> bool:
    """In CI, or as root in a container: there nobody minds one more package."""
    container = any(map(Path.exists, (Path("/.dockerenv"), Path("/run/.containerenv"))))
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return bool(shutil.which("apt-get")) and (bool(os.environ.get("CI")) or (root and container))


def install() -> None:
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    print(f"Installing {' and '.join(PACKAGES)} for the browser tests", flush=True)
    subprocess.run([*sudo, "apt-get", "update", "-qq"], check=True)
    command = [*sudo, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--browser", default="")
    if parser.parse_args().browser == "no":
        print("BROWSER=no: the browser tests are left out")
        return 0
    if not find() and may_install():
        install()
    if find():
        return 0
    print(
        "make test: no Chromium found; install it (Debian and Ubuntu: apt-get install chromium), "
        "name one by CHROMIUM=/path, or leave the browser tests out by `make test BROWSER=no`",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
