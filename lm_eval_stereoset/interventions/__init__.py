"""Interventions: what changes a model's answers without training it. Projections, fitted, applied, saved and swept.

model, tokenizer = load("bert-base-uncased")
directions = fit(model, tokenizer, places_of(model), pairs)
with intervention(directions, parse_setting("layer11", "0,1,1,0,1", pooled=True)).applied(model):
    scores = score(model, tokenizer, examples)
"""
