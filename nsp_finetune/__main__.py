"""python -m nsp_finetune COMMAND …  (or accelerate launch -m nsp_finetune train …)"""

import sys

from lm_eval_stereoset.cli import guarded
from nsp_finetune.cli import main

if __name__ == "__main__":
    sys.exit(guarded("nsp_finetune", main))
