"""Routes of the attack laboratory, which attacks synthetic people and reads no data."""

from typing import Annotated, Any

from fastapi import Path, Query, Request

from tacit.attacks import STORY_TEXTS
from tacit.server.guarded_route import new_router, open_to
from tacit.server.laboratory import Laboratory
from tacit.server.token_policy import Role

router = new_router()

Story = Annotated[str, Path(pattern="^[a-z-]{1,40}$")]
Fresh = Annotated[bool, Query()]
EVERYBODY = (Role.ANALYST, Role.OWNER, Role.AUDITOR)


@router.get("/v1/attacks", **open_to(*EVERYBODY))
async def list_attacks() -> dict[str, Any]:
    """Return the stories of the gallery: known attacks, which run on synthetic people."""
    told = [{"name": name, "about": about} for name, about in STORY_TEXTS.items()]
    return {"stories": told}


@router.post("/v1/attacks/{story}", **open_to(Role.OWNER, Role.AUDITOR))
async def attack(story: Story, request: Request, *, fresh: Fresh = False) -> dict[str, Any]:
    """Run a story, on exact answers and on answers of Tacit, and return what it found.

    Nothing is charged, because no person of any table is in it. The result of the last minutes
    is returned again, unless a ``fresh`` run is asked for.
    """
    laboratory: Laboratory = request.app.state.laboratory
    report: dict[str, Any] = await laboratory.run(story, fresh=fresh)
    return report
