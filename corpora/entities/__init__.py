"""Entity vocabularies: counts, choice, aliases, exports."""
