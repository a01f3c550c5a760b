"""Libraries that only some commands need, and the extra of Onoma that installs each."""

from corpora.errors import UsageError

EXTRAS = {
    "apache_beam": "pipelines",
    "brotli": "news",
    "cassis": "cas",
    "fastapi": "serve",
    "httpcore2": "news-please",
    "jieba": "chinese",
    "lxml": "tei",
    "matplotlib": "plots",
    "newsplease": "news-please",
    "obstore": "buckets",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "opencc": "chinese",
    "peft": "lora",
    "protego": "news-please",
    "py3langid": "news",
    "rapidfuzz": "linking",
    "rensa": "news",
    "safetensors": "modeling",
    "scrapy": "news-please",
    "seqeval": "modeling",
    "sklearn": "plots",
    "spacy": "spacy",
    "tensorboard": "tensorboard",
    "tokenizers": "pipelines",
    "torch": "modeling",
    "trafilatura": "news",
    "transformers": "modeling",
    "uvicorn": "serve",
    "wikiextractor": "wikiextractor",
}
"""Name of a module to the extra that installs it."""


class MissingExtraError(UsageError):
    """A missing library that a command needs."""


def missing_extra(error: ImportError) -> MissingExtraError | None:
    """Return an error that names the extra for a failed import; None where no extra has it."""
    name = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or name not in EXTRAS:
        return None
    return MissingExtraError(
        f"{name} is not installed, and this command needs it: pip install 'onoma[{EXTRAS[name]}]'."
    )
