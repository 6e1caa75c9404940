"""python -m nsp_finetune COMMAND …  (or accelerate launch -m nsp_finetune train …)"""

import os
import sys
import time

from lm_eval_stereoset.cli import guarded
from lm_eval_stereoset.errors import UserError
from nsp_finetune.cli import main

# Seconds. A mistake that all processes find is said by the first; the launcher ends the others meanwhile.
SAY_LATER = 5


def patient_main() -> int:
    try:
        return main()
    except UserError:
        if os.environ.get("RANK", "0") != "0":
            time.sleep(SAY_LATER)
        raise


if __name__ == "__main__":
    sys.exit(guarded("nsp_finetune", patient_main))
