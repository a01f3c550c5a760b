"""Entity vocabularies: counts, choice, ids, aliases, exports, look-up."""
