"""The kernels of attention with offsets, run by Triton's interpreter, which needs no GPU."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from modeling.layers import fused
from modeling.layers.attention import RelativeSelfAttention
from tests.modeling.layers import kernel_differences

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def measured():
    """Compare the kernels with what serves elsewhere, in a process where Triton only interprets.

    In this one, a test may have loaded it to compile.
    """
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not there")
    command = [sys.executable, "-m", "tests.modeling.layers.kernel_differences"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("dtype", "most"), [("float32", 5e-6), ("float16", 2e-3)])
def test_output_and_gradients_are_those_of_the_formula(measured, dtype, most):
    lines = [line["values"] for line in measured if line["part"] == dtype]

    assert len(lines) >= 2
    for values in lines:
        assert all(values[name][0] < most for name in kernel_differences.NAMES), values


def test_half_precision_is_as_exact_as_that_of_torch(measured):
    [values] = [line["values"] for line in measured if "torch" in line["part"]]

    pairs = [values[name] for name in ("output", "query", "key", "value")]
    assert all(ours < 1.5 * theirs for ours, theirs in pairs), values


def test_a_layer_is_the_same_with_the_kernels_and_without(measured):
    [values] = [line["values"] for line in measured if "layer" in line["part"]]

    assert values["largest"] < 1e-5


def test_sums_in_parts_are_sums_of_all_rows(monkeypatch):
    monkeypatch.setattr(fused, "_CHUNK", 8)
    by_offset, rows = torch.randn(7, 3, 4, dtype=torch.float64), torch.randn(7, 3, 5).double()

    sums = fused._sums(by_offset, rows)

    expected = torch.einsum("thc,thk->ck", by_offset, rows).float()
    torch.testing.assert_close(sums, expected, rtol=1e-5, atol=1e-5)  # summed in float32


def test_on_a_cpu_layers_do_not_use_the_kernels(monkeypatch):
    monkeypatch.setattr(fused, "USED", "where possible")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    fused.can_run.cache_clear()
    layer = RelativeSelfAttention(width=32, n_heads=2, clip=3)

    assert not fused.covers(layer.by_head(torch.randn(4, 32))[0], clip=3)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", kernel_differences.SHAPES, ids=str)
def test_the_kernels_are_as_exact_on_a_gpu(shape):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    of_type = {"dtype": torch.bfloat16, "tiling": fused.TILINGS[torch.bfloat16]}

    values = kernel_differences.differences(shape, device="cuda", **of_type)

    assert values["worst ×"] < 3
