"""Names linked to entities: those of a register, of an entity vocabulary, of training documents."""
