"""How well sentences become workflows without a model: 240 labelled sentences, and how long each takes."""

from benchmarks.installation import Installation
from benchmarks.results import Results


def measure(installation: Installation, results: Results, *, quick: bool) -> None:
    """Judge every sentence; ``quick`` makes no difference, it is a matter of a second."""
    from agents.router.routing import route  # reads the models, which need the installation's settings
    from benchmarks.sentences import FLOORS, PARTS, judge, sentences, shares, usable

    results.heading("Sentences to workflows, without a model")
    route(sentences()[0]["text"], offline=True)  # compiles the patterns
    verdicts = [judge(entry) for entry in usable()]
    for part in PARTS:
        of_part = [v for v in verdicts if v.entry["part"] == part]
        found = shares(of_part)
        results.note(f"{part} ({len(of_part)}): " + ", ".join(f"{name} {value:.1f} %" for name, value in found.items()))
    names = {"activities": "exact activity sets", "schedules": "schedules", "specs": "valid specs, or questions"}
    found = shares(verdicts)
    for name, title in names.items():
        results.add(title, found[name], "%", at_least=FLOORS[name])
    results.add("parameters", found["parameters"], "%")
    results.add("questions asked where they should be, and only there", found["questions"], "%")
    results.add("time per sentence, mean", 1000 * sum(v.seconds for v in verdicts) / len(verdicts), "ms")
