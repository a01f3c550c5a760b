"""Which decoder a command may ask for."""

from corpora.errors import UsageError
from modeling.tagging_config import DECODERS, HeadKind


def check_decoder(kind: HeadKind, decoder: str) -> None:
    """Raise ``UsageError`` for a decoder that does not go with a kind of head."""
    if decoder not in DECODERS[kind]:
        raise UsageError(
            f"--decoder {decoder}: does not go with head.kind={kind}; "
            f"{', '.join(DECODERS[kind])} do."
        )
