"""`python -m tacit.cli`, where the command is not on the path."""

from tacit.cli.main import main

main(prog_name="tacit")
