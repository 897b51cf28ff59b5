"""What agents call: `python -P -m stratagraph.service.hooks run claude-code session-start`, which imports little."""

import sys

from stratagraph.service.hooks.running import main

main(sys.argv[1:])
