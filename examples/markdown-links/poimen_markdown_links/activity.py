"""MarkdownLinksActivity: links in the Markdown files of a repository that lead to nothing."""

from fnmatch import fnmatch

from pydantic import Field

from poimen_markdown_links.links import links_in, problem_of
from workflows.activities.context import ActivityContext
from workflows.activities.paths import Territory
from workflows.activities.registry import activity
from workflows.activities.shapes import Fields

MOST_BYTES = 1024 * 1024


class MarkdownLinksConfig(Fields):
    """What an administrator sets for all runs."""

    ignore: list[str] = Field(default=[], description="Patterns of files to leave out, such as vendor/*")
    most_files: int = Field(default=2000, ge=1, le=100_000, description="Read at most so many files")


class MarkdownLinksInput(Fields):
    """Where to look."""

    path: str = Field(description="Directory of the repository")


class BrokenLink(Fields):
    """A link that leads nowhere."""

    file: str = Field(description="The file it is in, from the directory on")
    line: int = Field(description="Its line, from 1")
    target: str = Field(description="Where it leads")
    reason: str = Field(description="What is wrong with it")


class MarkdownLinksOutput(Fields):
    """What was found."""

    files: int = Field(description="How many files were read")
    links: int = Field(description="How many links are in them")
    broken: list[BrokenLink] = Field(description="Those that lead nowhere")


@activity(
    "MarkdownLinksActivity",
    category="analysis",
    timeout="5m",
    dependencies=("CloneRepoActivity",),
    config=MarkdownLinksConfig,
    keywords=("broken links", "dead links", "check the links"),
)
def markdown_links(input: MarkdownLinksInput, context: ActivityContext) -> MarkdownLinksOutput:
    """Finds links in Markdown files that lead to files or headings which are not there."""
    config = MarkdownLinksConfig.model_validate(context.config)
    root = Territory.of(context).confine(input.path).resolve()
    files = links = 0
    broken: list[BrokenLink] = []
    for file in sorted(root.rglob("*.md")):
        name = file.relative_to(root).as_posix()
        is_left_out = any(fnmatch(name, pattern) for pattern in config.ignore) or name.startswith(".git/")
        if is_left_out or file.is_symlink() or not file.is_file() or file.stat().st_size > MOST_BYTES:
            continue
        if files == config.most_files:
            context.warn(f"only the first {files} files were read")
            break
        context.check_cancelled()
        files += 1
        for line, target in links_in(file.read_text(errors="replace")):
            links += 1
            if reason := problem_of(target, file, root):
                broken.append(BrokenLink(file=name, line=line, target=target[:500], reason=reason))
    context.info("looked at the links", files=files, links=links, broken=len(broken))
    return MarkdownLinksOutput(files=files, links=links, broken=broken)
