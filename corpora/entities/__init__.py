"""Entity vocabularies: counts, choice, ids, aliases, equal entities, exports, report, look-up."""
