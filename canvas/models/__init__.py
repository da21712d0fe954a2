"""What the edges of a canvas mean, and how that changed."""

from canvas.models.relation import Relation, RelationType, RelationVersion

__all__ = ["Relation", "RelationType", "RelationVersion"]
