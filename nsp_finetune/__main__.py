"""python -m nsp_finetune COMMAND …  (or accelerate launch -m nsp_finetune train …); `stereoset nsp` is the same."""

import sys

from lm_eval_stereoset.cli import guarded
from nsp_finetune.cli import main

if __name__ == "__main__":
    sys.exit(guarded("nsp_finetune", lambda: main(prog="nsp_finetune")))
