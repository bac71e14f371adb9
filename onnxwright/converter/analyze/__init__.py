"""Facts about names in the HIR: what is read, what is bound, what is live."""
