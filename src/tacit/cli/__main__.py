"""`python -m tacit.cli`, where the command is not on the path."""

from tacit.cli.start import start

start()
