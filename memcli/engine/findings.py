"""What can be wrong in a store: the codes that `doctor` names, each with its weight and the next step."""

from memcli.base.value import Value, value

# code: (severity, what it is, what to do next). Errors and warnings make `check` fail; notes do not.
CODES = {
    "bad_key": ("warning", "a key that no key may be: `get` does not find it", "write another key into its file"),
    "bad_label": ("error", "no valid sensitivity label: treated as restricted", "write one of the four labels into it"),
    "bad_name": ("warning", "a name that no log or record has", "move it out of the store"),
    "bad_state": (
        "error",
        "the folder of the store's state is none of its own: nothing can be written",
        "move .memcli out of the store (memcli makes it anew)",
    ),
    "bad_tombstone": (
        "error",
        "a line of tombstones.jsonl that cannot be read: what it keeps out could be learned again",
        "restore it from git; the other lines hold",
    ),
    "circular": (
        "warning",
        "derived from itself, over other facts: made by hand",
        'memcli fact set KEY --derived-from ... without the circle ("" for nothing)',
    ),
    "conflict_copy": ("warning", "a synchroniser's conflict copy: not read", "merge it by hand, then delete it"),
    "conflict_markers": ("error", "merge conflict markers", "resolve the merge"),
    "damaged": ("error", "an entry whose label or end marker is damaged: treated as restricted", "restore it from git"),
    "damaged_header": ("error", "front matter or header that cannot be read", "mend it by hand or restore it from git"),
    "damaged_sidecar": (
        "error",
        "the sidecar cannot be read: the record is restricted",
        "restore it from git, or delete it and adopt",
    ),
    "damaged_source": ("error", "the source record cannot be read", "mend it by hand or restore it from git"),
    "drift": ("warning", "edited by hand since memcli wrote it", "memcli fact adopt KEY"),
    "edited": ("note", "an entry edited by hand", "nothing; git knows what it was"),
    "foreign_file": ("note", "a file that is no record", "move it out of the store"),
    "future": ("warning", "its time lies in the future", "check the clock"),
    "half_written": ("error", "text and sidecar are of different versions", "finish the checkout or sync"),
    "host_not_allowed": (
        "note",
        "vectors are enabled, and their host is not allowed on this machine: search goes by words alone",
        "memcli config vectors.endpoint --allow",
    ),
    "index_differs": ("warning", "the index is damaged or does not say what the files say", "memcli reindex"),
    "irregular_name": ("note", "the file name does not follow from the key", "nothing; memcli finds it"),
    "key_differs": ("error", "the two files name different keys: treated as restricted", "write one key into both"),
    "key_visible": (
        "note",
        "the label was raised later: the file name still shows the key",
        "forget it and set it anew to hide the key",
    ),
    "label_differs": (
        "warning",
        "the two files have different labels: the stricter holds, and --fix writes it into both",
        "memcli doctor --fix",
    ),
    "leavings": ("note", "an editor's leavings: not read", "delete it"),
    "leftover_sidecar": ("warning", "a sidecar left by an interrupted delete", "memcli doctor --fix"),
    "merge_left": ("warning", "a merge set values aside that the archive does not have yet", "memcli doctor --fix"),
    "name_of_another": (
        "warning",
        "the file has the name of another key: `get` does not find it",
        "rename the file, for example to a plain name",
    ),
    "newer_format": ("error", "written by a newer memcli", "upgrade memcli"),
    "no_driver": (
        "warning",
        "git merges the store's files as plain text in this clone: its merge driver is not set up, or is gone",
        "memcli git setup",
    ),
    "no_model": (
        "note",
        "vectors are enabled, and no model can be used here: search goes by words alone",
        "pip install 'memcli[vectors]', or name a host in vectors.endpoint and its vectors.model",
    ),
    "no_sidecar": ("warning", "made by hand: no sidecar", "memcli fact adopt KEY"),
    "not_a_file": (
        "error",
        "a link, device, unreadable, over-long or non-UTF-8 file: not read",
        "put a plain file of at most 1 MiB (or a folder) in its place, or make it readable",
    ),
    "not_encoded": ("note", "the last encoding of vectors did not come to its end", "memcli reindex --vectors"),
    "not_ignored": ("warning", ".gitignore does not keep .memcli/ out of git", "memcli doctor --fix"),
    "not_private": ("warning", "others can read the store's state", "memcli doctor --fix"),
    "orphan_sidecar": (
        "warning",
        "a sidecar without its text",
        "restore the text from git; after 7 days --fix puts it into the trash",
    ),
    "purged": (
        "warning",
        "what was purged has come back, with a merge or by hand",
        "memcli forget it with --purge, or keep it: memcli fact set KEY VALUE --include-forgotten",
    ),
    "secret": (
        "error",
        "a credential below label restricted",
        "take it out, or set --sensitivity restricted --allow-secret",
    ),
    "torn": ("warning", "an entry whose writer was stopped: never acknowledged, not read", "memcli doctor --fix"),
    "torn_line": ("warning", "a line of the archive that cannot be read", "restore it from git"),
    "tracked_state": (
        "warning",
        "git tracks the store's state: lock, trash and working memory would be shared",
        "git rm -r --cached .memcli",
    ),
    "two_files": ("error", "two files for one key: the stricter label holds", "memcli doctor --fix"),
    "two_to_choose": (
        "error",
        "two files for one key, and --fix cannot tell which holds: the stricter label does",
        "mend the damaged one, or move one of them out of the store",
    ),
    "unfinished": ("warning", "left by a writer that was stopped", "memcli doctor --fix"),
    "unknown_basis": (
        "note",
        "derived from what is nowhere in the store: it is kept, and trusted as an unknown source",
        "nothing, or name another basis with memcli fact set KEY --derived-from",
    ),
    "unknown_setting": (
        "warning",
        "memcli.toml has a setting that this version does not know",
        "see docs/reference/configuration.md",
    ),
    "unknown_target": (
        "note",
        "a relation to a key that no fact has: it is kept",
        "nothing; set that fact, or memcli fact unrelate",
    ),
    "unused_setting": (
        "warning",
        "vectors.model names the model of a host, and vectors.endpoint names no host: it is not used",
        "set vectors.endpoint too, or take vectors.model out of memcli.toml",
    ),
    "wrong_month": ("warning", "an entry in the log of another month", "move it by hand"),
}


@value
class Finding(Value):
    """One thing that is wrong. path: relative to the store; line: 0 when it concerns the whole file."""

    code: str
    path: str
    line: int = 0
    detail: str = ""

    @property
    def severity(self) -> str:
        """error, warning or note."""
        return CODES[self.code][0]
