"""What may happen to a store, one thing at a time and at random: memcli's verbs, editors, git, synchronisers, crashes."""

import functools
import json
import os
import random
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from support import Box, at

from memcli.base import errors
from memcli.model import labels
from memcli.store import episodes, facts, monthly, pair

NOUNS = "harbour lantern meadow pebble window garden kettle orchard saddle timber velvet walnut yellow zephyr".split()
MORE = "quiet старый фонарь 灯台 café snake_case camelCase INC-214 wi-fi 1.18 don't".split()
LABELS = ("public", "internal", "internal", "sensitive", "restricted")
KEYS = (*(f"{n} {i}" for i, n in enumerate(NOUNS[:9])), "C++", "ключ", "a/b")
SESSIONS = ("", "talk one", "talk two")


class Play:
    """One store and what is done to it; `seed` makes it the same each time."""

    def __init__(self, box: Box, seed: int) -> None:
        self.box, self.r = box, random.Random(seed)
        self.now: datetime = at()
        self.done: list[str] = []
        self.branch = 0
        self.acts: list[Callable[[], object]] = [
            getattr(self, n) for n in sorted(dir(self)) if n.startswith(("by_", "git_", "hand_", "log_", "left_"))
        ]
        (box.root.parent / "elsewhere.md").write_text("lantern\n")
        self.git("init", "-q")
        self.git("config", "core.autocrlf", "false")

    def step(self) -> str:
        """Does one thing; what the store refuses is done too. Says what it was."""
        act = self.r.choice(self.acts)
        name = act.__name__
        try:
            act()
        except errors.MemcliError as e:
            name += f" ({e.code})"
        self.done.append(name)
        self.now += timedelta(minutes=self.r.choice((0, 1, 60)))
        return name

    # What it is done with

    def text(self) -> str:
        """A few words."""
        return " ".join(self.r.choice((*NOUNS, *MORE)) for _ in range(self.r.randint(1, 9)))

    def key(self) -> str:
        return self.r.choice(KEYS)

    def git(self, *argv: str) -> None:
        """Git in the store; that it may refuse is part of the play."""
        subprocess.run(["git", "-C", str(self.box.root), *argv], capture_output=True, check=False, timeout=60)
        settings = self.box.root / "memcli.toml"
        if not settings.exists() or "<<<<<<<" in settings.read_text():  # without them nothing is a store
            settings.write_text("format = 1\n")

    def mds(self, layer: str = "facts") -> list[Path]:
        return sorted((self.box.root / layer).glob("*.md"))

    def some(self, layer: str = "facts", suffix: str = ".md") -> Path | None:
        found = sorted(p for p in (self.box.root / layer).glob(f"*{suffix}") if p.is_file() and not p.is_symlink())
        return self.r.choice(found) if found else None

    def write(self, path: Path, data: bytes) -> None:
        """As editors do: in place, in place with the old time, or by a rename."""
        how = self.r.randrange(4)
        if how == 0:
            temp = path.with_name(path.name + "~new")
            temp.write_bytes(data)
            temp.replace(path)
            return
        info = path.stat()
        with path.open("r+b") as f:
            f.write(data)
            f.truncate()
        if how == 1:
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))

    def lay(self, path: Path, data: bytes) -> None:
        """Make a file; a FIFO that `hand_odd_file` left in its place would wait for a reader."""
        if not path.is_file():
            path.unlink(missing_ok=True)
        path.write_bytes(data)

    # memcli's own verbs

    def by_set(self) -> object:
        options: dict[str, Any] = {}
        if self.r.random() < 0.4:
            options["sensitivity"] = self.r.choice(LABELS)
        if self.r.random() < 0.3:
            options["tags"] = tuple(self.r.sample(NOUNS, 2))
        if self.r.random() < 0.2:
            options["ttl_minutes"] = self.r.choice((1, 60, 10000, 0))
        if self.r.random() < 0.3:
            options["source"] = self.r.choice(("user:anna", "agent:coder", "url:example.org", "import:x"))
        if self.r.random() < 0.2:
            options["importance"] = self.r.choice((0.1, 0.8, 1.0))
        if self.r.random() < 0.2:
            options["domain"] = self.r.choice(("infra", "people"))
        return self.box.memory.set_fact(self.key(), self.text(), now=self.now, **options)

    def by_label(self) -> object:
        return self.box.memory.set_fact(self.key(), now=self.now, sensitivity=self.r.choice(LABELS))

    def by_tags(self) -> object:
        return self.box.memory.set_fact(self.key(), now=self.now, tags=tuple(self.r.sample(NOUNS, 1)))

    def by_rename(self) -> object:
        return self.box.memory.rename_fact(self.key(), self.key(), now=self.now)

    def by_forget(self) -> object:
        return self.box.memory.forget(self.key(), now=self.now, purge=self.r.random() < 0.2)

    def by_restore(self) -> object:
        return self.box.memory.restore(self.key(), now=self.now, include_forgotten=True)

    def by_adopt(self) -> object:
        md = self.some()
        key = self.key() if md is None or self.r.random() < 0.3 else md.stem
        return self.box.memory.adopt(key, now=self.now, sensitivity="internal")

    def by_opinion(self) -> object:
        memory = self.box.memory
        return self.r.choice((memory.confirm, memory.deny))(self.key(), run=str(self.r.random()), now=self.now)

    def by_episode(self) -> object:
        options = {"ttl_minutes": 60} if self.r.random() < 0.1 else {}
        return self.box.memory.add_episode(
            self.text(), now=self.now, session=self.r.choice(SESSIONS), sensitivity=self.r.choice(LABELS), task=self.text(),
            outcome=self.r.choice(("completed", "failed")), at=self.now - timedelta(days=self.r.choice((0, 0, 0, 20, 40))),
            **options,
        )  # fmt: skip

    def by_forget_episode(self) -> object:
        found = list(episodes.newest(self.box.store))
        return self.box.memory.forget(self.r.choice(found).id, now=self.now) if found else None

    def by_import(self) -> object:
        rows = [{"kind": "fact", "key": self.key(), "text": self.text(), "sensitivity": "internal"} for _ in range(3)]
        rows.append({"kind": "episode", "text": self.text(), "sensitivity": "internal"})
        path = self.box.root.parent / "rows.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
        trusted = self.r.random() < 0.5
        return self.box.memory.import_jsonl(str(path), trusted=trusted, supersede=trusted, now=self.now)

    def by_sweep(self) -> object:
        return self.box.memory.sweep(yes=True, now=self.now)

    def by_mending(self) -> object:
        return self.box.memory.doctor(fix=True, now=self.now)

    def by_procedure(self) -> object:
        memory, key = self.box.memory, self.key()
        how = self.r.randrange(3)
        if how == 0:
            return memory.propose_procedure(key, (f"one: {self.text()}",), now=self.now, title=self.text())
        if how == 1:
            return memory.approve_procedure(key, by="user:anna", now=self.now)
        return memory.record_procedure(key, success=True, now=self.now)

    def by_source(self) -> object:
        memory = self.box.memory
        verb = self.r.choice((memory.block_source, memory.allow_source))
        change = functools.partial(verb, by="user:keeper")
        return change(self.r.choice(("anna", "coder", "hand")), now=self.now)

    def by_setting(self) -> object:
        half, age = self.r.choice((180, 1, 0)), self.r.choice((0, 0, 30))
        words = f"format = 1\n\n[decay]\nfact_half_life_days = {half}\nmax_fact_age_days = {age}\n"
        return (self.box.root / "memcli.toml").write_text(words)

    def by_time(self) -> None:
        self.now += timedelta(days=self.r.choice((-2, 1, 1, 15)))

    # git

    def git_commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def git_switch(self) -> None:
        """To a new branch and back again, so that others lie far apart."""
        if self.r.random() < 0.4:
            self.branch += 1
            self.git("checkout", "-q", "-b", f"b{self.branch}")
        else:
            self.git("checkout", "-qf", f"b{self.r.randint(0, self.branch)}")

    def git_stash(self) -> None:
        self.git("stash", "-q")
        if self.r.random() < 0.7:
            self.git("stash", "pop", "-q")

    def git_rebase(self) -> None:
        self.git("rebase", "-q", f"b{self.r.randint(0, self.branch)}")
        if self.r.random() < 0.5:
            self.git("rebase", "--abort")

    # Hands

    def hand_edit(self) -> None:
        md = self.some(self.r.choice(("facts", "procedures")))
        if md:
            self.write(md, md.read_bytes().rstrip(b"\n") + f" {self.text()}\n".encode())

    def hand_same_size(self) -> None:
        md = self.some()
        if md:
            data = md.read_bytes()
            one, other = self.r.sample([n for n in NOUNS if len(n) == 6], 2)
            self.write(md, data.replace(one.encode(), other.encode()))

    def hand_label(self) -> None:
        """In the text or in the sidecar, up or down."""
        path = self.some(self.r.choice(("facts", "procedures")), self.r.choice((".md", ".meta.json")))
        if path:
            data, new = path.read_bytes(), self.r.choice(LABELS).encode()
            for old in {label.encode() for label in LABELS}:
                data = data.replace(b"sensitivity: " + old, b"sensitivity: " + new)
                data = data.replace(b'"sensitivity": "' + old, b'"sensitivity": "' + new)
            self.write(path, data)

    def hand_number(self) -> None:
        """A time to live, a confidence or an importance in the sidecar."""
        path = self.some(suffix=".meta.json")
        if path:
            try:
                raw = json.loads(path.read_bytes())
            except ValueError:
                return
            if isinstance(raw, dict):
                raw[self.r.choice(("confidence", "importance"))] = self.r.choice((0.0, 0.2, 0.9))
                raw["ttl_minutes"] = self.r.choice((0, 30, 5000))
                self.write(path, json.dumps(raw, indent=2).encode())

    def hand_new(self) -> None:
        name = self.r.choice(("by hand", "x" * 60, "новое", "b--0123456789ab", self.key().replace("/", "-")))
        front = (
            f"---\nkey: {self.key()}\nsensitivity: {self.r.choice(LABELS)}\n---\n\n" if self.r.random() < 0.7 else ""
        )
        (self.box.root / "facts").mkdir(exist_ok=True)
        self.lay(self.box.root / "facts" / f"{name}.md", (front + self.text() + "\n").encode())

    def hand_remove(self) -> None:
        path = self.some(self.r.choice(("facts", "facts", "procedures")), self.r.choice((".md", ".meta.json")))
        if path:
            path.unlink()

    def hand_copy(self) -> None:
        """The pair of a key under a second name, sometimes with another id."""
        md = self.some()
        if md:
            name = self.r.choice(("copy one", "copy two", "copy--0123456789ab"))
            side = md.with_name(md.stem + ".meta.json")
            old = f"-{self.r.randrange(10)}"
            for p, suffix in ((md, ".md"), (side, ".meta.json")):
                if p.exists():
                    data = p.read_bytes()
                    if self.r.random() < 0.5:
                        data = data.replace(b"-7", old.encode()[:1] + b"7")
                    self.lay(md.with_name(name + suffix), data)

    def hand_move(self) -> None:
        md = self.some()
        if md:
            side = md.with_name(md.stem + ".meta.json")
            md.rename(md.with_name(f"moved {self.r.randrange(3)}.md"))
            if side.exists() and self.r.random() < 0.5:
                side.rename(md.with_name(f"moved {self.r.randrange(3)}.meta.json"))

    def hand_damage(self) -> None:
        path = self.some(self.r.choice(("facts", "procedures")), self.r.choice((".md", ".meta.json")))
        if path:
            self.write(path, self.r.choice((b"", b"{", b"\xff\xfe", b"---\nkey: [\n---\n\nx\n", b"plain words\n")))

    def hand_conflict(self) -> None:
        path = self.some(self.r.choice(("facts", "procedures", "episodes")))
        if path:
            lines = path.read_bytes().split(b"\n")
            place = self.r.randrange(len(lines))
            lines[place:place] = [b"<<<<<<< ours", b"lantern", b"=======", b"meadow", b">>>>>>> theirs"]
            self.write(path, b"\n".join(lines))

    def hand_line_ends(self) -> None:
        path = self.some(self.r.choice(("facts", "procedures", "episodes")))
        if path:
            data = path.read_bytes().replace(b"\r\n", b"\n")
            self.write(path, data if self.r.random() < 0.3 else data.replace(b"\n", b"\r\n"))

    def hand_odd_file(self) -> None:
        """A link, a folder or a file of another kind in the place of a record."""
        path = self.some()
        if path:
            path.unlink()
            how = self.r.randrange(3)
            if how == 0:
                path.symlink_to(self.box.root.parent / "elsewhere.md")
            elif how == 1:
                os.mkfifo(path)
            else:
                path.write_bytes(b"x" * ((1 << 20) + 1))

    def hand_tidy(self) -> None:
        """Take out what no record is, so that a long play does not end in rubble."""
        for path in sorted((self.box.root / "facts").glob("*")):
            if not path.is_file() or path.stat().st_size > 1 << 20:
                path.unlink()

    def hand_folder(self) -> None:
        if self.r.random() < 0.1:
            folder = self.box.root / self.r.choice(("facts", "procedures", "episodes"))
            if folder.exists():
                aside = self.box.root.parent / "aside"
                folder.rename(aside)
                if self.r.random() < 0.5:
                    aside.rename(folder)
                else:
                    subprocess.run(["rm", "-r", str(aside)], check=True)

    # Writers that were stopped

    def left_half(self) -> object:
        """A new sidecar and the old text, with or without what was to become the new one."""
        key = self.key()
        self.box.memory.set_fact(key, self.text(), now=self.now)
        fact = facts.get(self.box.store, key)
        assert fact is not None
        md = self.box.root / "facts" / f"{fact.name}.md"
        before = md.read_bytes()
        stored = self.box.memory.set_fact(key, self.text(), now=self.now).fact
        if self.r.random() < 0.5 and stored.id:
            md.rename(md.with_name(pair.md_temp(stored.name, stored.id)))
        if self.r.random() < 0.7:
            md.write_bytes(before)
        return None

    def left_temps(self) -> None:
        """Takes temporary files away, as `git clean` does."""
        for path in (self.box.root / "facts").glob(".*.tmp"):
            path.unlink()

    def left_rename(self) -> None:
        """Both pairs of a renamed fact."""
        key, new = self.key(), self.key()
        fact = facts.get(self.box.store, key)
        if fact is None or fact.state != "ok":
            return
        pairs_ = [self.box.root / "facts" / f"{fact.name}{s}" for s in (".md", ".meta.json")]
        held = {p: p.read_bytes() for p in pairs_ if p.is_file()}
        self.box.memory.rename_fact(key, new, now=self.now)
        for p, data in held.items():
            p.write_bytes(data)

    # Logs

    def log_path(self) -> Path | None:
        return self.some("episodes")

    def log_entry(self, label: str = "internal") -> bytes:
        from memcli.base import ids
        from memcli.model.records import Episode, Source

        made = Episode(
            id=ids.new(self.now), at=self.now.replace(microsecond=0), text=self.text(), task=self.text(), session=self.r.choice(SESSIONS),
            source=Source(id="coder", kind="agent"), sensitivity=labels.sensitivity(label),
        )  # fmt: skip
        return monthly.encode(made)

    def add_to_log(self, data: bytes) -> None:
        path = self.log_path()
        if path:
            with path.open("ab") as f:
                f.write(data)

    def log_append(self) -> None:
        self.add_to_log(self.log_entry(self.r.choice(LABELS)))

    def log_torn(self) -> None:
        """Half an entry, and now and then the other half at once or later."""
        path = self.log_path()
        if path is None:
            return
        whole = self.log_entry()
        cut = self.r.randrange(1, len(whole))
        self.add_to_log(whole[:cut])
        self.rest = whole[cut:]

    def log_rest(self) -> None:
        """What was missing of an entry, wherever."""
        self.add_to_log(getattr(self, "rest", b""))

    def log_raise(self) -> None:
        """A label raised by a line, in full or in two halves; also before its entry."""
        path = self.log_path()
        if path is None:
            return
        entry = self.log_entry()
        found = list(episodes.newest(self.box.store))
        id_ = self.r.choice(found).id if found and self.r.random() < 0.7 else monthly.spans(entry, []).__next__()[2].id
        line = f"<!-- raise {id_} {self.r.choice(LABELS)} -->\n".encode()
        how = self.r.randrange(3)
        if how == 0:
            self.add_to_log(line)
        elif how == 1:
            cut = self.r.randrange(1, len(line))
            self.add_to_log(line[:cut])
            self.rest = line[cut:]
        else:
            self.add_to_log(line)
            self.rest = entry

    def log_again(self) -> None:
        """An entry that is there already, once more, with another text or label."""
        path = self.log_path()
        if path is None:
            return
        data = monthly.normal(path.read_bytes())
        listed = list(monthly.spans(data, []))
        if listed:
            start, end, entry = self.r.choice(listed)
            again = entry.replace(text=self.text(), sensitivity=labels.sensitivity(self.r.choice(LABELS)))
            self.add_to_log(self.r.choice((data[start:end], monthly.encode(again))))

    def log_edit(self) -> None:
        path = self.log_path()
        if path:
            data = path.read_bytes()
            place = self.r.randrange(len(data) + 1)
            how = self.r.randrange(3)
            new = (data[:place] + b"meadow" + data[place:], data[:place] + data[place + 40 :], data[:place])[how]
            self.write(path, new)

    def log_remove(self) -> None:
        path = self.log_path()
        if path and self.r.random() < 0.3:
            path.unlink()
