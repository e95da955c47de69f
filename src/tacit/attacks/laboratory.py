"""The gallery of attacks as a program: a server runs it as a process of its own.

``python -m tacit.attacks.laboratory STORY`` runs a story on synthetic people and prints what
was found, as JSON. The process needs no project, reads no data, and is given no secret. It runs
at the lowest priority, and ends by itself when it works for too long.
"""

import json
import os
import resource
import sys
from collections.abc import Sequence
from typing import Any

from tacit.attacks.gallery import GalleryNoise, find_stories, gallery_report

LOWEST_PRIORITY, MOST_SECONDS = 19, 120
"""The priority of the process, and the seconds of a processor that one story may take."""


def run(name: str) -> dict[str, Any]:
    """Run one story, and return its report as plain values."""
    [story] = find_stories([name])
    made = gallery_report([story.attack(GalleryNoise.live())])
    report: dict[str, Any] = json.loads(made.to_json())
    [part] = made.parts
    for told, finding in zip(report["parts"][0]["findings"], part.findings, strict=True):
        told["brief"] = finding.verdict.brief
    return report


def main(arguments: Sequence[str]) -> None:
    """Print the report of the story that is named."""
    os.nice(LOWEST_PRIORITY)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    sys.stdout.write(json.dumps(run(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
