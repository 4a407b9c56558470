"""`memcli scrub`: a filter for text that is about to leave."""

from memcli.cli import session
from memcli.cli.call import Context, Output


def scrub(ctx: Context) -> Output:
    """Copy stdin to stdout with credentials and personal data replaced by their type.

    Example: git log -p | memcli scrub
    """
    from memcli.model import redact

    shown = redact.mask(session.text_or_stdin("-", most_mib=32) or "")
    notes = (f"replaced: {', '.join(f'{n} {c}' for n, c in sorted(shown.counts.items()))}",) if shown.counts else ()
    return Output({"text": shown, "replaced": shown.counts}, f"{shown}\n", notes=notes)
