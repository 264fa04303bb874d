"""``python -m benchmarks`` measures the crawl."""

from __future__ import annotations

import sys

from benchmarks.crawl import main

sys.exit(main())
