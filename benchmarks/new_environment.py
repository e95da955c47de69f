"""A new virtual environment, and the commands of what is installed in it."""

import os
import subprocess
import sys
from pathlib import Path


class NewEnvironment:
    """Nothing but Python and pip, in a folder."""

    def __init__(self, place: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        self.programs = place / "bin"

    def run(self, program: str, *words: object, here: Path) -> str:
        """What a program of the environment prints; it sees none of ours."""
        ours = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        command = [self.programs / program, *map(str, words)]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=here, env=environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(self, *words: object, here: Path) -> None:
        """What pip is told to install."""
        self.run("pip", "install", "--quiet", "--disable-pip-version-check", *words, here=here)
