"""Entity linking: names to entities of a register, an entity vocabulary or training documents."""
