"""The table of commands: which words run which function of which module. Literals only, so it loads at once.

A module is imported when its command is called, never before. Help lines are not repeated here: they are the first
line of each function's docstring (full.py reads them without running the module).
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memcli.cli.call import Output

# Words after `memcli` -> (module, function). One word, or a group and its command. Shown in this order.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("memcli.cli.store", "init"),
    "where": ("memcli.cli.store", "where"),
    "status": ("memcli.cli.store", "status"),
    "stats": ("memcli.cli.store", "stats"),
    "doctor": ("memcli.cli.store", "doctor"),
    "reindex": ("memcli.cli.store", "reindex"),
    "check": ("memcli.cli.store", "check"),
    "audit": ("memcli.cli.audit", "audit"),
    "config": ("memcli.cli.store", "config"),
    "fact set": ("memcli.cli.fact", "set_"),
    "fact get": ("memcli.cli.fact", "get"),
    "fact list": ("memcli.cli.fact", "list_"),
    "fact edit": ("memcli.cli.fact", "edit"),
    "fact rename": ("memcli.cli.fact", "rename"),
    "fact history": ("memcli.cli.fact", "history"),
    "fact forget": ("memcli.cli.fact", "forget"),
    "fact restore": ("memcli.cli.fact", "restore"),
    "fact adopt": ("memcli.cli.fact", "adopt"),
    "fact confirm": ("memcli.cli.opinion", "confirm"),
    "fact deny": ("memcli.cli.opinion", "deny"),
    "fact relate": ("memcli.cli.relation", "relate"),
    "fact unrelate": ("memcli.cli.relation", "unrelate"),
    "fact related": ("memcli.cli.relation", "related"),
    "fact chain": ("memcli.cli.relation", "chain"),
    "episode add": ("memcli.cli.episode", "add"),
    "episode list": ("memcli.cli.episode", "list_"),
    "episode show": ("memcli.cli.episode", "show"),
    "work set": ("memcli.cli.work", "set_"),
    "work add": ("memcli.cli.work", "add"),
    "work get": ("memcli.cli.work", "get"),
    "work list": ("memcli.cli.work", "list_"),
    "work clear": ("memcli.cli.work", "clear"),
    "remember": ("memcli.cli.consolidate", "remember"),
    "consolidate": ("memcli.cli.consolidate", "consolidate"),
    "context": ("memcli.cli.context", "context"),
    "procedure propose": ("memcli.cli.procedure", "propose"),
    "procedure approve": ("memcli.cli.procedure", "approve"),
    "procedure reject": ("memcli.cli.procedure", "reject"),
    "procedure record": ("memcli.cli.procedure", "record"),
    "procedure best": ("memcli.cli.procedure", "best"),
    "procedure list": ("memcli.cli.procedure", "list_"),
    "procedure show": ("memcli.cli.procedure", "show"),
    "source list": ("memcli.cli.source", "list_"),
    "source show": ("memcli.cli.source", "show"),
    "source set": ("memcli.cli.source", "set_"),
    "source allow": ("memcli.cli.source", "allow"),
    "source block": ("memcli.cli.source", "block"),
    "forget": ("memcli.cli.record", "forget"),
    "restore": ("memcli.cli.record", "restore"),
    "search": ("memcli.cli.search", "search"),
    "retrieve": ("memcli.cli.retrieve", "retrieve"),
    "recall": ("memcli.cli.recall", "recall"),
    "graph": ("memcli.cli.relation", "graph"),
    "review list": ("memcli.cli.review", "list_"),
    "review show": ("memcli.cli.review", "show"),
    "review accept": ("memcli.cli.review", "accept"),
    "review reject": ("memcli.cli.review", "reject"),
    "review walk": ("memcli.cli.review", "walk"),
    "review diff": ("memcli.cli.review", "diff"),
    "verify": ("memcli.cli.verify", "verify"),
    "sweep": ("memcli.cli.sweep", "sweep"),
    "scrub": ("memcli.cli.scrub", "scrub"),
    "import": ("memcli.cli.exchange", "import_"),
    "export": ("memcli.cli.exchange", "export"),
    "git setup": ("memcli.cli.clone", "setup"),
    "sync": ("memcli.cli.sync", "sync"),
    "merge-driver": ("memcli.cli.merge", "merge_driver"),
}

# The first word of two-word commands -> its line of help.
GROUPS: dict[str, str] = {
    "fact": "What is known, by key: a new value replaces the old one and keeps its history.",
    "procedure": "How it is done: validated ways of doing a task, rated by their use.",
    "review": "What a person should look at: proposals, doubts, hand edits, contradictions, changes.",
    "source": "Who said it, and how far that is trusted.",
    "episode": "What happened, in order: a log by month.",
    "git": "What one clone of a store must know.",
    "work": "What a session holds in mind: short-lived, never in git.",
}


def load(path: str) -> "Callable[..., Output]":
    """The function of a command path such as "fact set"; imports its module. Raises KeyError for an unknown path."""
    module, name = COMMANDS[path]
    __import__(module)
    function: Callable[..., Output] = getattr(sys.modules[module], name)
    return function


def children(group: str) -> list[str]:
    """The names one level below a group, in the table's order; "" is the root, whose groups count as names."""
    start = f"{group} " if group else ""
    below = [path.removeprefix(start) for path in COMMANDS if path.startswith(start)]
    return list(dict.fromkeys(path.partition(" ")[0] for path in below))
