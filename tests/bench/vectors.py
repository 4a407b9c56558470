"""What vectors cost: encoding a record, and a search as a whole process with them and without, in units of a bare start.

    python tests/bench/vectors.py [FACTS]          1,000 unless named; one record takes some hundredths of a second

Run it with the Python of an environment that holds memcli and its extra: pip install '.[vectors]'. Rounds are
interleaved, and medians of CPU time are printed; only ratios inside one run mean anything.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import corpus

HERE = Path(__file__).resolve().parent
ROUNDS = 8
QUESTION = "how is the service released to production?"


def measure(words: list[str]) -> tuple[float, float, int]:
    """CPU and wall time in seconds and peak memory in KiB of one command."""
    watch = [sys.executable, "-I", "-S", str(HERE / "measure.py"), *words]
    said = subprocess.run(watch, capture_output=True, text=True, check=True).stdout.split()
    if said[3] != "0":
        sys.exit(f"failed: {' '.join(words)}")
    return float(said[0]), float(said[1]), int(said[2])


def main() -> None:
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    os.environ["MEMCLI_NOW"] = corpus.NOW.isoformat()
    python = sys.executable
    memcli = [python, "-m", "memcli"]
    with tempfile.TemporaryDirectory() as folder:
        stores = [Path(folder, name) for name in ("without", "with")]
        rows = Path(folder, "rows.jsonl")
        rows.write_text("".join(json.dumps(row) + "\n" for row in corpus.records(facts)))
        for store in stores:
            for words in (["init"], ["import", "jsonl", str(rows), "--trusted"], ["search", "warm"]):
                subprocess.run([*memcli, "--store", str(store), *words], check=True, capture_output=True)
        with (stores[1] / "memcli.toml").open("a") as settings:
            settings.write("\n[vectors]\nenabled = true\n")
        cpu, wall, peak = measure([*memcli, "--store", str(stores[1]), "reindex", "--vectors"])
        again, _, _ = measure([*memcli, "--store", str(stores[1]), "reindex", "--vectors"])
        done = [*memcli, "--store", str(stores[1]), "reindex", "--vectors", "--json"]
        said = json.loads(subprocess.run(done, check=True, capture_output=True).stdout)["data"]
        print(
            f"{said['records']} records of {facts} facts, {said['model']}; {said['bytes'] / said['records']:.0f} bytes each"
        )
        print(
            f"encoding: {1000 * cpu / said['records']:.0f} ms CPU a record, {wall:.0f} s in all, {peak / 1024:.0f} MB"
        )
        cases = {
            "python -c pass": [python, "-c", "pass"],
            "search without": [*memcli, "--store", str(stores[0]), "search", QUESTION],
            "search with": [*memcli, "--store", str(stores[1]), "search", QUESTION],
        }
        seen = {name: [measure(words)] for name, words in cases.items()}
        for _ in range(ROUNDS):
            for name, words in cases.items():
                seen[name].append(measure(words))
        bare = statistics.median(row[0] for row in seen["python -c pass"])
        print(f"reindex --vectors with nothing to do: {again / bare:.1f} F")
        for name, rows_ in seen.items():
            cpu, wall, peak_kib = (statistics.median(row[i] for row in rows_) for i in range(3))
            print(f"{name:16} {cpu / bare:5.1f} F CPU  {1000 * wall:5.0f} ms wall  {peak_kib / 1024:4.0f} MB")


if __name__ == "__main__":
    main()
