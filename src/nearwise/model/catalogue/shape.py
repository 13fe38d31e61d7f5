"""How the catalogue is written down: sections of (code, level, sentence)."""

Sections = dict[str, tuple[tuple[str, str, str], ...]]
