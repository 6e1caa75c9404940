"""SNLI: how well a model does natural language inference, beside how fair it is."""
