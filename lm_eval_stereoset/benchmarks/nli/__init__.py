"""NLI fairness: is a person of some occupation taken for a man or for a woman?"""
