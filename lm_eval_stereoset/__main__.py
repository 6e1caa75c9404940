"""python -m lm_eval_stereoset …  is  stereoset …  (for `accelerate launch -m lm_eval_stereoset run …`)."""

import sys

from lm_eval_stereoset.cli import main

if __name__ == "__main__":
    sys.exit(main())
