"""What the edges of a canvas mean, how that changed, and what is drawn but not saved yet."""

from canvas.models.draft import Draft
from canvas.models.relation import Relation, RelationType, RelationVersion

__all__ = ["Draft", "Relation", "RelationType", "RelationVersion"]
