"""`python -m zibaldone` is `zibaldone`."""

from zibaldone.cli.start import main

main()
