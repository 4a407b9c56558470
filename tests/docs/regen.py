"""Write the real outputs into the pages: `python tests/docs/regen.py [PAGE...]`. Then read the diff."""

import sys
import tempfile
from pathlib import Path

import transcript


def main() -> None:
    """Renew the pages named on the command line, or all that hold commands."""
    chosen = [Path(word).resolve() for word in sys.argv[1:]] or transcript.pages()
    for page in chosen:
        text = page.read_text("utf-8")
        if not transcript.steps(text):
            continue
        with tempfile.TemporaryDirectory() as folder:
            new = transcript.renewed(text, Path(folder, "run"))
        if new != text:
            page.write_text(new, "utf-8")
            print(f"renewed {page.relative_to(transcript.TOP)}")


if __name__ == "__main__":
    main()
