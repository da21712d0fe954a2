"""The activities there are, by exact name, with typed schemas; the knowledge base is generated from here.

Apps register theirs from ``AppConfig.ready()``, third parties through the entry-point group ``poimen.activities``.
Refuses two activities of one name and functions without typed input and output (contract-activities 0).
"""

import inspect
import logging
import threading
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, cached_property
from importlib.metadata import entry_points
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from workflows.activities.context import ActivityContext, Suspended
from workflows.activities.plugin_packages import SLUG, PluginPackage, described, is_address, parse_address
from workflows.activities.shapes import told
from workflows.errors import InvalidInput, PermanentError
from workflows.spec.durations import format_duration, parse_duration
from workflows.spec.secret_handles import SecretUse, uses_in

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "poimen.activities"

# inline: in the pump's own thread, for code that cannot block; async: a coroutine on the pump's loop, for waits;
# process: in a child process group that is killed when the timeout passes. Plain functions get a process by default.
Isolation = Literal["inline", "async", "process"]

# True: the output depends on the input alone. A function of the typed input: what else it depends on, as JSON, or None
# when the result for this input is not to be kept.
Cacheable = bool | Callable[[Any], Any]


@dataclass(frozen=True)
class Activity:
    """One registered activity: its function, schemas and the defaults of its retry policy."""

    name: str
    function: Callable[..., Any]
    input_model: type[BaseModel]
    output_model: type[BaseModel]
    description: str
    category: str
    timeout: timedelta
    is_flaky: bool
    max_attempts: int
    backoff: float
    isolation: Isolation
    dependencies: tuple[str, ...] = ()
    notes: str = ""
    internal: bool = False
    max_concurrency: int | None = None
    keywords: tuple[str, ...] = ()
    cacheable: Cacheable = False
    cache_version: str = "1"
    config_model: type[BaseModel] | None = None
    plugin: str = ""

    @property
    def is_cacheable(self) -> bool:
        """Whether a state may let its results be kept."""
        return self.cacheable is not False

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the input object."""
        return self.input_model.model_json_schema(by_alias=True)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the output object."""
        return self.output_model.model_json_schema(by_alias=True, mode="serialization")

    @cached_property
    def secret_uses(self) -> dict[str, SecretUse]:
        """What the input's fields do with ``secret:<id>`` handles, by name; the others take none."""
        return uses_in(self.input_schema)

    def parse_input(self, parameters: Mapping[str, Any]) -> BaseModel:
        """Return ``parameters`` as the typed input; raises :class:`InvalidInput` naming every wrong field."""
        try:
            return self.input_model.model_validate(parameters)
        except ValidationError as error:
            raise InvalidInput(f"{self.name} cannot take this input: {told(error, 'input')}") from None

    def dump_output(self, output: Any) -> Any:
        """Return what the function gave back as plain JSON data; :class:`Suspended` passes through."""
        if isinstance(output, Suspended):
            return output
        if isinstance(output, BaseModel):
            return _without_absent(output)
        try:
            model = self.output_model.model_validate(output)
        except ValidationError as error:
            problems = told(error, "output")
            raise PermanentError(
                f"{self.name} returned something else than its output schema says: {problems}"
            ) from None
        return _without_absent(model)


class ByName(dict[str, Activity]):
    """Activities by name; ``plugin://<slug>[@version]`` finds one too, and is listed nowhere."""

    def __init__(self, packages: Mapping[str, PluginPackage]) -> None:
        super().__init__()
        self._packages = packages
        self.refusal: Callable[[str], str] = lambda _: ""  # why an activity must not be used, though it is there

    def __missing__(self, name: str) -> Activity:
        if not is_address(name):
            raise KeyError(name)
        return self._of_plugin(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the activity, by name or address; ``default`` if there is none."""
        try:
            return self[name]
        except KeyError:
            return default

    def why_not(self, name: str) -> str:
        """Say why the address of a plugin finds nothing; empty if it does, or for what is no address."""
        try:
            if is_address(name):
                self._of_plugin(name)
        except KeyError as error:
            return str(error.args[0])
        return ""

    def _of_plugin(self, address: str) -> Activity:
        try:
            slug, version = parse_address(address)
        except ValueError as error:
            raise KeyError(str(error)) from None
        package = self._packages.get(slug)
        if package is None:
            known = ", ".join(sorted(self._packages)) or "none"
            raise KeyError(f"there is no plugin {slug!r}; installed are: {known}")
        if package.error:
            raise KeyError(f"the plugin {slug!r} cannot be loaded: {package.error}")
        if version is not None and version != package.version:
            raise KeyError(f"the plugin {slug!r} is installed in version {package.version}, not {version}")
        if len(package.activities) != 1:
            names = ", ".join(package.activities) or "none"
            raise KeyError(f"the plugin {slug!r} does not have one activity; name the one you mean: {names}")
        return self[package.activities[0]]


class Registry:
    """A set of activities by name, and the plugins that some of them come from."""

    def __init__(self) -> None:
        self.plugins: dict[str, PluginPackage] = {}
        self._activities = ByName(self.plugins)
        self._discovered = False
        self._discovering = threading.RLock()
        self._is_discovering = False
        self._loading = ""

    def add(self, activity: Activity) -> None:
        """Register; raises ``ValueError`` if another activity has the name already."""
        known = self._activities.get(activity.name)
        if known is not None and known.function is not activity.function:
            raise ValueError(f"two activities are called {activity.name}")
        if self._loading and known is None:
            activity = replace(activity, plugin=self._loading)
        self._activities[activity.name] = activity

    def get(self, name: str) -> Activity:
        """Return the activity; raises :class:`PermanentError` ``UnknownActivity`` if there is none of that name."""
        activity: Activity | None = self.all().get(name)
        if activity is None:
            why = self._activities.why_not(name) or f"there is no activity called {name!r}"
            raise PermanentError(why, name="UnknownActivity")
        return activity

    def all(self) -> ByName:
        """Every activity by name, those of installed packages included."""
        if not self._discovered:
            self._discover_once()
        return self._activities

    def refuse_by(self, refusal: Callable[[str], str]) -> None:
        """Ask ``refusal`` why an activity of a plugin must not be used; it answers an empty text if it may."""
        self._activities.refusal = refusal

    def offered(self) -> dict[str, Activity]:
        """Every activity that may be used, by name: without those of plugins that are disabled."""
        known = self.all()
        return {name: activity for name, activity in known.items() if not activity.plugin or not known.refusal(name)}

    def __iter__(self) -> Iterator[Activity]:
        return iter(sorted(self.all().values(), key=lambda a: a.name))

    def _discover_once(self) -> None:
        with self._discovering:  # other threads wait; a module that asks while it is loaded gets what there is
            if self._discovered or self._is_discovering:
                return
            self._is_discovering = True
            try:
                self._discover()
                self._discovered = True
            finally:
                self._is_discovering = False

    def _discover(self) -> None:
        for entry in entry_points(group=ENTRY_POINT_GROUP):
            before = set(self._activities)
            problem = ""
            self._loading = entry.name
            try:
                if not SLUG.fullmatch(entry.name) or entry.name in self.plugins:
                    raise ValueError(f"{entry.name!r} is no name of a plugin, or another one has it")
                entry.load()  # the module registers its activities when it is imported
            except (Exception, SystemExit) as error:
                # One broken package must not take the others down; it is named, and its activities are unknown.
                log.exception("the activities of %s cannot be loaded", entry.value)
                problem = f"{type(error).__name__}: {error}"
                for name in set(self._activities) - before:
                    del self._activities[name]
            finally:
                self._loading = ""
            names = sorted(set(self._activities) - before)
            if SLUG.fullmatch(entry.name) and entry.name not in self.plugins:
                self.plugins[entry.name] = described(entry, error=problem, activities=names)


registry = Registry()


def activity(
    name: str,
    *,
    category: str,
    description: str | None = None,
    timeout: str = "5m",
    is_flaky: bool = False,
    max_attempts: int | None = None,
    backoff: float = 2.0,
    isolation: Isolation | None = None,
    dependencies: tuple[str, ...] = (),
    notes: str = "",
    internal: bool = False,
    max_concurrency: int | None = None,
    keywords: tuple[str, ...] = (),
    cacheable: Cacheable = False,
    cache_version: str = "1",
    config: type[BaseModel] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function under ``name``.

    The function takes ``(input: SomeModel, context: ActivityContext)`` and returns ``OutputModel`` (or
    ``OutputModel | Suspended``); the schemas come from these annotations, the description from the docstring.
    ``timeout`` is the start-to-close default in duration text. ``max_attempts`` counts the first try; left out it is
    3 for flaky activities and 1 for others (contract-workflow-spec 4). Coroutine functions run ``async``, plain ones
    in a ``process`` unless ``isolation`` says ``inline``. A field takes secrets only if it says so
    (``workflows.activities.shapes.TAKES_SECRETS``). ``keywords`` are words or phrases by which a sentence means this
    activity; their inflections count too. ``cacheable`` lets states keep its results (docs/reference/spec.md), and a
    new ``cache_version`` makes nothing of those kept before. ``config`` is the shape of what an administrator sets
    for the plugin that the activity comes with; it gets it as ``context.config``.

    Raises ``TypeError`` without annotations, and ``ValueError`` for a ``max_concurrency`` below 1, with which it would
    never run, and for a cacheable activity that runs inline or suspends itself.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        input_model, output_model = _models(function)
        is_coroutine = inspect.iscoroutinefunction(function)
        chosen = isolation or ("async" if is_coroutine else "process")
        if max_concurrency is not None and max_concurrency < 1:
            raise ValueError(f"{name}: max_concurrency is at least 1; left out there is no limit")
        if cacheable is not False and (chosen == "inline" or _may_suspend(function)):
            raise ValueError(f"{name}: what runs inline or suspends itself has no result worth keeping")
        if (chosen == "async") != is_coroutine:
            raise TypeError(f"{name}: coroutine functions, and only they, have isolation 'async'")
        registry.add(
            Activity(
                name=name,
                function=function,
                input_model=input_model,
                output_model=output_model,
                description=description or inspect.getdoc(function) or "",
                category=category,
                timeout=parse_duration(timeout),
                is_flaky=is_flaky,
                max_attempts=max_attempts or (3 if is_flaky else 1),
                backoff=backoff,
                isolation=chosen,
                dependencies=dependencies,
                notes=notes,
                internal=internal,
                max_concurrency=max_concurrency,
                keywords=keywords,
                cacheable=cacheable,
                cache_version=cache_version,
                config_model=config,
            )
        )
        return function

    return register


def _without_absent(output: BaseModel) -> dict[str, Any]:
    """JSON data of ``output``; None leaves out an optional field, and is the value (JSON null) of a required one."""
    try:
        data = output.model_dump(mode="json", by_alias=True, exclude_none=True)
    except ValueError as error:
        raise PermanentError(f"the output is not JSON: {error}", name="InvalidOutput") from None
    for name, key in _required(type(output)):
        if getattr(output, name) is None:
            data[key] = None
    return data


@cache
def _required(model: type[BaseModel]) -> list[tuple[str, str]]:
    """The required fields, each with its name in JSON."""
    return [
        (name, info.serialization_alias or info.alias or name)
        for name, info in model.model_fields.items()
        if info.is_required()
    ]


def _models(function: Callable[..., Any]) -> tuple[type[BaseModel], type[BaseModel]]:
    hints = typing.get_type_hints(function)
    result = hints.pop("return", None)
    parameters = [p for p in inspect.signature(function).parameters if p in hints]
    if len(parameters) != 2 or hints[parameters[1]] is not ActivityContext:
        raise TypeError(f"{function.__name__} must take (input: <pydantic model>, context: ActivityContext)")
    returned = [t for t in (typing.get_args(result) or (result,)) if t not in (Suspended, type(None))]
    if len(returned) != 1 or not (isinstance(returned[0], type) and issubclass(returned[0], BaseModel)):
        raise TypeError(f"{function.__name__} must return one pydantic model (or Suspended)")
    return hints[parameters[0]], returned[0]


def _may_suspend(function: Callable[..., Any]) -> bool:
    result = typing.get_type_hints(function).get("return")
    return Suspended in (typing.get_args(result) or (result,))


def default_timeout_text(item: Activity) -> str:
    """The activity's start-to-close default as duration text."""
    return format_duration(item.timeout)
