"""What was measured: figures with units and budgets, as a table for people and as JSON for machines."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; ``at_least`` or ``at_most`` is its budget (design section 9)."""

    name: str
    value: float
    unit: str
    kind: Literal["info", "at_least", "at_most"] = "info"
    budget: float | None = None

    @property
    def is_met(self) -> bool:
        """Whether it is within its budget; a figure without one always is."""
        if self.budget is None:
            return True
        return self.value >= self.budget if self.kind == "at_least" else self.value <= self.budget


@dataclass(slots=True)
class Results:
    """Figures in the order they were taken; each is printed at once."""

    figures: list[Figure] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Say what comes next."""
        print(f"\n{text}", flush=True)

    def note(self, text: str) -> None:
        """Say how it was measured, or what was left out."""
        print(f"  {text}", flush=True)

    def add(self, name: str, value: float, unit: str, **budget: float) -> None:
        """Take and print one figure; ``at_least=`` or ``at_most=`` is its budget."""
        figure = Figure(name, round(value, 3), unit)
        for kind, limit in budget.items():
            assert kind in ("at_least", "at_most")
            figure = Figure(name, round(value, 3), unit, kind, limit)  # type: ignore[arg-type]
        self.figures.append(figure)
        number = f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
        verdict = ""
        if figure.budget is not None:
            sign = ">=" if figure.kind == "at_least" else "<="
            verdict = f"budget {sign} {figure.budget:g}  {'ok' if figure.is_met else 'BELOW BUDGET'}"
        print(f"  {name:<58}{number:>10} {unit:<9} {verdict}", flush=True)

    def write(self, path: Path) -> None:
        """Write every figure as JSON."""
        content = [asdict(figure) | {"met": figure.is_met} for figure in self.figures]
        path.write_text(json.dumps(content, indent=2) + "\n")


def percentile(values: list[float], share: float) -> float:
    """The value that ``share`` (0 to 1) of ``values`` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
