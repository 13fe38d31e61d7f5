"""``python -m nearwise``."""

from nearwise.cli import main

main()
