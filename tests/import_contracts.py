"""The contract of layers for import-linter, which looks for a package only where its `__init__.py` is.

Importing the package finds the rooms in the other source roots.
"""

from __future__ import annotations

from importlinter.contracts.layers import LayersContract

import stratagraph

assert stratagraph.__path__


class Layers(LayersContract):
    """import-linter's own contract."""
