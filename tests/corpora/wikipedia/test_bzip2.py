"""Blocks of bzip2 are found and decoded alone, and nothing is taken for a block that is none."""

import bz2
import random
import time
import zlib
from itertools import pairwise

import pytest

from corpora.wikipedia.bzip2 import _SMALL, BLOCK, END, Bzip2File
from corpora.wikipedia.chunks import Chunk, Damage

MAGIC = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]


def noise(n_bytes, *, seed=0):
    return bytes(random.Random(seed).choices(b"abcdefgh <>\n", k=n_bytes))


def bits(number, length):
    return f"{number:0{length}b}"


def stream_with(symbols, *, before=b""):
    """Write a bzip2 stream of one block by hand, in which the symbols stand as they are.

    With 254 different bytes there are 256 symbols, and all have codes of eight bits: so any number
    can be made to stand in the block. ``before``, as a block, moves it to another bit.
    """
    last_column = bytes_of(symbols)
    data = undo_runs(undo_sorting(last_column))
    crc = crc_of(data)
    n_groups = (len(symbols) + 1 + 49) // 50
    block = bits(BLOCK, 48) + bits(crc, 32) + "0" + bits(0, 24)
    block += "1" * 16 + "1" * 254 + "00"
    block += bits(2, 3) + bits(n_groups, 15) + "0" * n_groups
    block += 2 * (bits(8, 5) + "0" * 256)
    block += "".join(bits(symbol, 8) for symbol in [*symbols, 255])
    first = bits(
        int.from_bytes(bz2.compress(before)[4:], "big"), 8 * len(bz2.compress(before)) - 32
    )
    first = first[: first.rindex(bits(END, 48))]
    total = crc_of(before)
    total = ((total << 1 | total >> 31) & 0xFFFFFFFF) ^ crc
    whole = first + block + bits(END, 48) + bits(total, 32)
    whole += "0" * (-len(whole) % 8)
    return b"BZh9" + int(whole, 2).to_bytes(len(whole) // 8, "big"), before + data


def bytes_of(symbols):
    order = list(range(254))
    column = []
    for symbol in symbols:
        byte = order.pop(symbol - 1)
        order.insert(0, byte)
        column.append(byte)
    return column


def undo_sorting(column):
    following = sorted(range(len(column)), key=lambda n: column[n])
    at, data = following[0], []
    for _ in column:
        data.append(column[at])
        at = following[at]
    return data


def undo_runs(data):
    out, run = [], 0
    for byte in data:
        if run == 4:
            out += [out[-1]] * byte
            run = 0
            continue
        run = run + 1 if out and out[-1] == byte and run else 1
        out.append(byte)
    return bytes(out)


def crc_of(data):
    mirrored = zlib.crc32(bytes(int(bits(byte, 8)[::-1], 2) for byte in data))
    return int(bits(mirrored, 32)[::-1], 2)


def read(path, cuts):
    """Read a file in ranges; of each only what is its own."""
    source = Bzip2File(path)
    edges = [0, *cuts, source.size]
    items = []
    for start, end in pairwise(edges):
        for item in source.chunks(start, end):
            if not item.own:
                break
            items.append(item)
    return items


def text_of(items):
    return b"".join(item.data for item in items if isinstance(item, Chunk))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "dump.xml.bz2"


@pytest.mark.parametrize("before", [b"", b"abc", b"abcdefgh", b"windmill", b"0123456789" * 9])
def test_a_magic_number_within_a_block_is_not_taken_for_one(before, path):
    symbols = [2 + n % 250 for n in range(600)] + MAGIC + [7 + n % 99 for n in range(5000)]
    stream, inside = stream_with(symbols, before=before)
    assert bz2.decompress(stream) == inside  # so it was well made
    around = noise(20_000), noise(20_000, seed=1)
    packed = [bz2.compress(data, compresslevel=1) for data in around]
    path.write_bytes(packed[0] + stream + packed[1])
    starts = range(len(packed[0]), len(packed[0] + stream), 97)

    for cut in starts:
        items = read(path, [cut])

        assert text_of(items) == around[0] + inside + around[1]
        assert all(isinstance(item, Chunk) for item in items)


@pytest.mark.parametrize("n_bytes", [1, 5000, 99_980, 100_000, 500_000])
@pytest.mark.parametrize("n_streams", [1, 3])
def test_blocks_together_are_the_text(n_bytes, n_streams, path):
    parts = [noise(n_bytes, seed=n) for n in range(n_streams)]
    path.write_bytes(b"".join(bz2.compress(part, compresslevel=1) for part in parts))
    size = path.stat().st_size

    items = read(path, sorted(random.Random(n_bytes).choices(range(size), k=5)))

    assert text_of(items) == b"".join(parts)


def test_large_blocks_are_decoded_and_a_damaged_one_costs_only_itself(path):
    parts = [noise(400_000, seed=n) for n in range(3)]
    packed = [bytearray(bz2.compress(part)) for part in parts]
    packed[1][100_000] ^= 1
    path.write_bytes(b"".join(packed))

    items = read(path, [])

    assert min(map(len, packed)) > _SMALL
    assert text_of(items) == parts[0] + parts[2]
    assert sum(isinstance(item, Damage) for item in items) == 1


def test_empty_streams_and_what_follows_the_last_stream_are_passed_over(path):
    parts = noise(1000), noise(2000, seed=1)
    empty = bz2.compress(b"")
    path.write_bytes(
        empty + bz2.compress(parts[0]) + empty * 2 + bz2.compress(parts[1]) + empty + b"garbage"
    )

    items = read(path, [])

    assert text_of(items) == b"".join(parts)
    assert all(isinstance(item, Chunk) for item in items)


@pytest.mark.parametrize(
    ("damaged", "byte", "offset"),
    [(1, 10, 4), (1, 2000, 4), *((number, 5, 0) for number in range(3))],  # 5: the magic number
)
def test_a_damaged_block_costs_only_itself(damaged, byte, offset, path):
    parts = [noise(20_000, seed=n) for n in range(3)]
    packed = [bytearray(bz2.compress(part)) for part in parts]
    packed[damaged][byte] ^= 0xFF
    path.write_bytes(b"".join(packed))

    items = read(path, [])

    assert text_of(items) == b"".join(parts[:damaged] + parts[damaged + 1 :])
    [damage] = (item for item in items if isinstance(item, Damage))
    begin = sum(map(len, packed[:damaged])) + offset
    assert damage.position == f"byte {begin} of the compressed file"


def test_a_block_inside_a_stream_that_lost_its_magic_number_costs_only_itself(path):
    data = noise(300_000)
    packed = bytearray(bz2.compress(data, compresslevel=1))
    path.write_bytes(packed)
    second, third = (int(item.place.split()[-1]) for item in read(path, [])[1:3])
    packed[second + 2] ^= 0xFF
    path.write_bytes(packed)

    items = read(path, [])

    kinds = [type(item) for item in items]
    assert kinds[:3] == [Chunk, Damage, Chunk]
    assert abs(int(items[1].position.split()[1]) - second) <= 1
    assert items[2].place.endswith(f" {third}")
    assert data.startswith(items[0].data)
    assert data.endswith(text_of(items[2:]))


def test_the_ending_is_there_though_the_last_block_is_tiny(path):
    data = noise(200_000) + b"</mediawiki>"
    path.write_bytes(bz2.compress(data[:-5]) + bz2.compress(data[-5:]))

    items = list(Bzip2File(path).ending())

    assert text_of(items).endswith(b"</mediawiki>")
    assert len(text_of(items)) <= len(data)


def seconds(path, data):
    path.write_bytes(data)
    start = time.process_time()
    read(path, [])
    return time.process_time() - start


@pytest.mark.parametrize(
    "piece",
    [bz2.compress(b"a"), BLOCK.to_bytes(6), BLOCK.to_bytes(6) + bytes(60), bz2.compress(b"a")[:30]],
    ids=["tiny streams", "false marks", "false marks with room", "cut streams"],
)
def test_what_is_no_block_costs_little_more_than_blocks(piece, path):
    usual = bz2.compress(random.Random(0).randbytes(30_000))
    hostile = piece * (30_000 // len(piece))

    times = [(seconds(path, hostile), seconds(path, usual)) for _ in range(3)]

    assert min(slow for slow, _ in times) < 100 * min(fast for _, fast in times)


def test_empty_streams_before_a_false_mark_cost_little_more_than_a_block(path):
    usual = bz2.compress(random.Random(0).randbytes(100_000))
    empty = bz2.compress(b"")
    hostile = bz2.compress(b"a") + empty * (100_000 // len(empty)) + BLOCK.to_bytes(6) + empty

    times = [(seconds(path, hostile), seconds(path, usual)) for _ in range(3)]

    assert min(slow for slow, _ in times) < 20 * min(fast for _, fast in times)  # it was 100
