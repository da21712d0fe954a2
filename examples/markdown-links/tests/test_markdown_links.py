"""The plugin's own test: the activity is called as a function, with a context; no engine is needed."""

from pathlib import Path

from poimen_markdown_links.activity import MarkdownLinksInput, markdown_links

from workflows.activities.context import ActivityContext, Identity

PAGE = """# One thing
[good](other.md) [there](other.md#a-heading) [here](#one-thing) [away](https://example.org/x.md)
[gone](gone.md "title") ![picture](img/a.png) [no heading](other.md#none) [out](../../etc/passwd) `[code](x.md)`
```
[fenced](y.md)
```
"""


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    identity = Identity("execution", "customer", "branch", "Links", visit=1, attempt=1)
    context = ActivityContext(identity, home=tmp_path, sink=lambda report: None, config={"ignore": ["vendor/*"]})
    (context.workspace / "page.md").write_text(PAGE)
    (context.workspace / "other.md").write_text("## A heading\n")
    (context.workspace / "vendor").mkdir()
    (context.workspace / "vendor" / "bad.md").write_text("[x](nowhere.md)")
    found = markdown_links(MarkdownLinksInput(path=str(context.workspace)), context)
    assert (found.files, found.links) == (2, 8)
    assert [(link.line, link.target, link.reason) for link in found.broken] == [
        (3, "gone.md", "no such file"),
        (3, "img/a.png", "no such file"),
        (3, "other.md#none", "no such heading"),
        (3, "../../etc/passwd", "leads out of the repository"),
    ]
