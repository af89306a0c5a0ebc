"""`python -m onemq`: the same as the `onemq` command."""

from onemq.cli.main import main

main()
