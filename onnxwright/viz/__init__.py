"""Drawing and tabulating graphs; nothing is here yet."""
