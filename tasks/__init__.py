"""The task files as a package, lm_eval_stereoset.tasks: what the entry point `lm_eval.tasks` names."""
