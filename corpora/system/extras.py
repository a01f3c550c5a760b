"""Libraries that only some commands need, and why one cannot be loaded."""

import re

from corpora.errors import CorpusError, UsageError

EXTRAS = {
    "apache_beam": "pipelines",
    "backports": "news",
    "bioc": "bioc",
    "brotli": "news",
    "cassis": "cas",
    "charset_normalizer": "news",
    "dateparser": "news",
    "fastapi": "serve",
    "h11": "serve",
    "httpcore2": "news-please",
    "huggingface_hub": "modeling",
    "jieba": "chinese",
    "libzim": "zim",
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
    "pydantic": "serve",
    "pydantic_core": "serve",
    "rapidfuzz": "linking",
    "readability": "news-please",
    "regex": "modeling",
    "rensa": "news",
    "safetensors": "modeling",
    "scrapy": "news-please",
    "selectolax": "pipelines",
    "seqeval": "modeling",
    "sklearn": "plots",
    "spacy": "spacy",
    "starlette": "serve",
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


class NoMemoryError(CorpusError):
    """Too little memory for a command, or for a library that it loads."""


_NO_MEMORY = re.compile(
    r"(failed to map segment from shared object|annot allocate memory)\Z"  # the dynamic linker's
    r"|can't allocate memory|out of memory"  # torch's
)


def reason_of(error: BaseException) -> CorpusError | None:
    """Return an error for users: too little memory, or a missing library; None for all others."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        said = str(error).partition(". ")[0]
        return NoMemoryError(
            f"there is not enough memory{said and f' ({said})'}. Close other programs, take fewer "
            "--workers or smaller batches (finetune: training.batch_size, pretrain: "
            "training.micro_batch_size), or raise the limit of the shell (ulimit -v)."
        )
    return missing_extra(error) if isinstance(error, ImportError) else None


def missing_extra(error: ImportError) -> MissingExtraError | None:
    """Return an error that names the extra for a failed import; None where no extra has it."""
    name = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or name not in EXTRAS:
        return None
    return MissingExtraError(
        f"{name} is not installed, and this command needs it: pip install 'onoma[{EXTRAS[name]}]'."
    )
