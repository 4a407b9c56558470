"""`python -m memcli`."""

from memcli.cli.main import program

program()
