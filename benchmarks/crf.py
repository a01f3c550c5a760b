"""Compare the time of this project's CRF with that of pytorch-crf.

    pip install pytorch-crf
    python -m benchmarks.crf --threads 2 --runs 31

Both get the same potentials and the same sentences of different lengths. It is checked that both
give the same loss and the same best paths. "loss" is forward and backward of the summed negative
log-likelihood; "viterbi" finds the best paths as lists. Both run in turn; a ratio is the median
over the runs of time / time.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torchcrf import CRF

from modeling.layers.crf import Crf, log_partition, score, viterbi


class Case:
    """Random potentials, tags and lengths, which both implementations get."""

    def __init__(self, *, n_sentences: int, n_words: int, n_tags: int, ragged: bool) -> None:
        shape = (n_sentences, n_words, n_tags)
        self.emissions = torch.randn(shape, requires_grad=True)
        self.lengths = torch.full((n_sentences,), n_words)
        if ragged:
            self.lengths = torch.randint(1, n_words + 1, (n_sentences,))
            self.lengths[0] = n_words
        self.mask = torch.arange(n_words) < self.lengths[:, None]
        self.tags = torch.randint(n_tags, (n_sentences, n_words))
        self.crf = CRF(n_tags, batch_first=True)
        with torch.no_grad():
            self.crf.end_transitions.zero_()  # our CRF has none
        self.transitions = self.crf.transitions.detach().clone().requires_grad_()
        self.starts = self.crf.start_transitions.detach().clone().requires_grad_()

    @property
    def ours(self) -> Crf:
        return Crf(self.emissions, self.lengths, self.transitions, self.starts)

    def own_loss(self) -> Tensor:
        loss = (log_partition(self.ours) - score(self.ours, self.tags)).sum().float()
        loss.backward()
        return loss.detach()

    def other_loss(self) -> Tensor:
        loss = -self.crf(self.emissions, self.tags, mask=self.mask)
        loss.backward()
        return loss.detach()

    def own_paths(self) -> list[list[int]]:
        rows = zip(viterbi(self.ours).tolist(), self.lengths.tolist(), strict=True)
        return [row[:length] for row, length in rows]

    def other_paths(self) -> list[list[int]]:
        with torch.no_grad():
            return self.crf.decode(self.emissions, mask=self.mask)

    def check(self) -> None:
        """Check that both give the same losses, gradients and best paths.

        Raises ``AssertionError`` where they differ.
        """
        self.emissions.grad = None
        torch.testing.assert_close(self.own_loss(), self.other_loss(), rtol=1e-5, atol=1e-3)
        torch.testing.assert_close(
            self.transitions.grad, self.crf.transitions.grad, rtol=1e-4, atol=1e-3
        )
        assert self.own_paths() == self.other_paths()


def seconds(function: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def measure(name: str, case: Case, *, runs: int) -> None:
    """Print the ratios of one size."""
    case.check()
    pairs = {
        "loss": (case.own_loss, case.other_loss),
        "viterbi": (case.own_paths, case.other_paths),
    }
    print(f"\n{name}")
    for what, functions in pairs.items():
        times: list[list[float]] = [[], []]
        for run in range(runs + 2):
            took = [seconds(function) for function in functions]
            if run > 1:  # the first two runs warm up
                for list_, value in zip(times, took, strict=True):
                    list_.append(value)
        own, other = (statistics.median(values) * 1e3 for values in times)
        ratio = statistics.median(b / a for a, b in zip(*times, strict=True))
        print(f"  {what:8} {own:7.2f} ms, pytorch-crf {other:7.2f} ms: {ratio:5.1f} x as fast")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--runs", type=int, default=31)
    parser.add_argument(
        "--sizes", nargs="+", default=["32x128x25", "32x40x9"], metavar="SxNxC",
        help="sentences x words x tags",
    )  # fmt: skip
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {arguments.threads} threads")
    for size in arguments.sizes:
        n_sentences, n_words, n_tags = map(int, size.split("x"))
        for ragged in (False, True):
            case = Case(n_sentences=n_sentences, n_words=n_words, n_tags=n_tags, ragged=ragged)
            name = f"{n_sentences} x {n_words} words x {n_tags} tags"
            measure(name + (", ragged" if ragged else ""), case, runs=arguments.runs)


if __name__ == "__main__":
    main()
