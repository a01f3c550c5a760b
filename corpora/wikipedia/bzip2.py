"""Bzip2 read from any offset: each block is found by its magic number and decoded alone.

A bzip2 file is a sequence of streams (``BZh9`` … a CRC), each a sequence of blocks of at most
900 kB of text. A block begins at any bit, with the 48 bits of ``BLOCK`` and its CRC, and does not
depend on the blocks before it. So a long single stream and a multistream file are cut alike, and
of a damaged block only the block itself is lost. ``dump.py`` cuts files into ranges. Format:
https://github.com/dsnet/compress/blob/master/doc/bzip2-format.pdf
"""

import bz2
import io
import re
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import IO

from corpora.wikipedia.chunks import Chunk, Damage, DumpSource

BLOCK = 0x314159265359
END = 0x177245385090  # the end of the blocks of a stream; the CRC of the stream follows
MAX_BLOCK_BYTES = 2_400_000  # 900,000 symbols of at most 20 bits, and their tables
_WINDOW = 1 << 18
_MAGIC_BITS, _CRC_BITS = 48, 32
_MAGIC_BYTES = 7  # bytes that the 48 bits may touch
_FOOTER_BYTES = 11  # END, CRC, and what is left of the block's last byte
_HEADER = b"BZh9"
_MIN_STREAM = 34  # bytes of the shortest stream that holds a byte of text
_SMALL = 1 << 16  # up to so many bytes, the standard library decodes a stream sooner
_EMPTY = bz2.compress(b"")
_EMPTY_STREAM = re.compile(rb"BZh[1-9]" + re.escape(_EMPTY[len(_HEADER) :]))
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _insides_of(magic: int) -> dict[bytes, int]:
    """Map the whole bytes within a magic number to the bit offset at which it begins.

    One entry for each of the 8 offsets within a byte.
    """
    insides = {magic.to_bytes(6, "big"): 0}
    return insides | {(magic << (8 - bit)).to_bytes(7, "big")[1:-1]: bit for bit in range(1, 8)}


_INSIDES = {magic: _insides_of(magic) for magic in (BLOCK, END)}
_PATTERNS = {  # no groups: they would make it ten times slower
    magic: re.compile(b"|".join(map(re.escape, insides))) for magic, insides in _INSIDES.items()
}


class Bzip2File(DumpSource):
    """XML in bzip2; a range counts compressed bytes, and has the blocks that begin in it."""

    def chunks(self, start: int, end: int) -> Iterator[Chunk | Damage]:
        """Decode block after block; one that cannot be decoded is ``Damage``."""
        with self.path.open("rb") as file:
            marks = _Marks(file, start)
            if start == 0:
                first = marks.first()
                # damage if the first block found is not at the beginning of the file
                file.seek(0)
                beginning = file.read(MAX_BLOCK_BYTES)
                n_bytes = 0
                while _EMPTY_STREAM.match(beginning, n_bytes):
                    n_bytes += len(_EMPTY)
                begins_stream = beginning.startswith(b"BZh", n_bytes)
                if first != (8 * (n_bytes + len(_HEADER)) if begins_stream else None):
                    yield _damage(n_bytes, is_own=True, is_end=first is None)
            before: int | None = None
            while (block := marks.first()) is not None:
                yield from _read(file, marks, before, is_own=block // 8 < end)
                before = marks.pass_on()

    def ending(self) -> Iterator[Chunk | Damage]:
        """Decode the last two blocks: the last may be tiny."""
        with self.path.open("rb") as file:
            blocks = list(_find_blocks(file, max(0, self.size - 2 * MAX_BLOCK_BYTES)))
        return self.chunks(blocks[-2:][0] // 8 if blocks else self.size, self.size)


class _Marks:
    """The bits at which blocks seem to begin, in order; each is searched for when it is needed."""

    def __init__(self, file: IO[bytes], start: int) -> None:
        self._found = _find_blocks(file, start)
        self._held: deque[int | None] = deque()

    def first(self, *, beyond: int = 0) -> int | None:
        """Return the first bit not yet passed, or the one ``beyond`` later.

        Returns None where there is none.
        """
        while len(self._held) <= beyond:
            self._held.append(next(self._found, None))
        return self._held[beyond]

    def pass_on(self) -> int | None:
        """Pass the first bit, and return it."""
        return self._held.popleft()


def _read(
    file: IO[bytes], marks: _Marks, before: int | None, *, is_own: bool
) -> Iterator[Chunk | Damage]:
    """Decode the first block of ``marks``; ``before`` is the bit at which the previous one begins.

    Once in 2^48 bits the magic number occurs in a block by chance. Then either the next mark is
    false and this block ends at the one after it, or this mark is false and lies inside the block
    before.
    """
    block, following = marks.first() or 0, marks.first(beyond=1)
    part = _cut(file, block, following)
    data = _decode(part)
    if data is None and following is not None:
        after = marks.first(beyond=2)
        part = _cut(file, block, after, beyond=following)
        data = _decode(part)
    if data is None and _is_inside_another(file, block, following, before=before):
        return
    if data is None:
        part = _cut(file, block, following)
        data, lost = _decode_first(part)
    else:
        lost = part.unexplained()
    if data is not None:
        yield Chunk(data, 0, is_own, f"of the bzip2 block at byte {block // 8}")
    if lost is not None:
        yield _damage(block // 8 + lost, is_own=is_own, is_end=following is None)


def _damage(byte: int, *, is_own: bool, is_end: bool) -> Damage:
    what = "ends too early" if is_end else "is damaged"
    message = f"the bzip2 block at byte {byte} of the file {what}"
    return Damage(f"byte {byte} of the compressed file", message, is_own, is_end)


def _is_inside_another(
    file: IO[bytes], block: int, following: int | None, *, before: int | None
) -> bool:
    """Tell whether the block before extends to the block that follows, over this one.

    ``before`` is None where the range begins with this block: then the block before is searched.
    """
    if before is None:
        found = _find_blocks(file, max(0, block // 8 - MAX_BLOCK_BYTES))
        last = deque(takewhile(lambda bit: bit < block, found), maxlen=1)
        before = last[0] if last else None
    return before is not None and (_decode(_cut(file, before, following, beyond=block)) is not None)


def _find_blocks(file: IO[bytes], start: int) -> Iterator[int]:
    """Find the bits at which blocks seem to begin, from a byte of the file on."""
    while True:
        file.seek(start)
        window = file.read(_WINDOW + _MAGIC_BYTES)
        for bit in _find(BLOCK, window):
            if bit < 8 * _WINDOW:
                yield 8 * start + bit
        if len(window) < _WINDOW + _MAGIC_BYTES:
            return
        start += _WINDOW


def _find(magic: int, data: bytes) -> Iterator[int]:
    """Find the bits at which a magic number begins, in order."""
    pattern = _PATTERNS[magic]
    match = pattern.search(data)
    while match:
        shift = _INSIDES[magic][match[0]]
        bit = 8 * (match.start() - (shift > 0)) + shift
        if bit >= 0 and _bits(data, bit, _MAGIC_BITS) == magic:
            yield bit
        match = pattern.search(data, match.start() + 1)


def _bits(data: bytes, start: int, length: int) -> int | None:
    """Read bits as a number; None where the data end before."""
    end = start + length
    if end > 8 * len(data):
        return None
    touched = data[start // 8 : (end + 7) // 8]
    return (int.from_bytes(touched, "big") >> (-end % 8)) & ((1 << length) - 1)


@dataclass(frozen=True, slots=True)
class _Part:
    """The bytes from a block to the next one, with the block from bit ``start`` to ``end``."""

    data: bytes
    start: int
    end: int
    ends_stream: bool
    """Whether the magic number ``END`` stands at bit ``end``."""
    is_last: bool
    """Whether the file ends here."""

    def stream(self) -> bytes:
        """Build a bzip2 stream of this block alone, aligned to bytes."""
        length = max(self.end - self.start, _MAGIC_BITS + _CRC_BITS)
        bits = _bits(self.data, self.start, length)
        if bits is None:  # fewer bits than the magic number and a CRC
            return _HEADER
        crc = bits >> (length - _MAGIC_BITS - _CRC_BITS) & 0xFFFFFFFF
        footer = END << _CRC_BITS | crc  # the CRC of a stream of one block is that of the block
        total = length + _MAGIC_BITS + _CRC_BITS
        whole = (bits << (_MAGIC_BITS + _CRC_BITS) | footer) << (-total % 8)
        return _HEADER + whole.to_bytes((total + 7) // 8, "big")

    def unexplained(self) -> int | None:
        """Return the byte at which data of no stream begins, or None.

        Such data may be a block that lost its magic number. After the last stream, bytes that do
        not begin a stream are allowed.
        """
        if not self.ends_stream:
            return None
        start = (self.end + _MAGIC_BITS + _CRC_BITS + 7) // 8
        while _EMPTY_STREAM.match(self.data, start):
            start += len(_EMPTY)
        rest = self.data[start:]
        is_fine = b"BZh" not in rest if self.is_last else len(rest) <= len(_HEADER) + 1
        return None if is_fine else start


def _cut(file: IO[bytes], block: int, following: int | None, *, beyond: int = 0) -> _Part:
    """Cut out a block, to the beginning of the next block or to the first END.

    An END at or before the bit ``beyond`` is not considered.
    """
    first = block // 8
    n_bytes = MAX_BLOCK_BYTES if following is None else (following + 7) // 8 - first
    file.seek(first)
    data = file.read(min(n_bytes, MAX_BLOCK_BYTES))
    start, end = block % 8, 8 * len(data)
    if following is not None:
        end = min(end, following - 8 * first)
    ends_stream = False
    if following is None or (following % 8 == 0 and data[-4:-1] == b"BZh"):
        after = max(start, beyond - 8 * first)
        found = next((bit for bit in _find(END, data) if bit > after), None)
        end, ends_stream = (end, False) if found is None else (found, True)
    return _Part(data, start, end, ends_stream, following is None)


def _decode(part: _Part) -> bytes | None:
    """Decode a block; None unless it ends at the right bit and its CRC is right."""
    stream = part.stream()
    if len(stream) < _MIN_STREAM:
        return None
    if len(stream) > _SMALL and not _ends_inside(stream):
        try:  # a fifth faster than the standard library
            from rapidgzip import IndexedBzip2File

            with IndexedBzip2File(io.BytesIO(stream), parallelization=1) as file:
                return bytes(file.read())
        except (RuntimeError, ValueError, OSError):
            pass  # damaged streams are left to the standard library, too
    decompressor = bz2.BZ2Decompressor()
    try:
        data = decompressor.decompress(stream)
    except OSError:
        return None
    return data if decompressor.eof and not decompressor.unused_data else None


def _ends_inside(stream: bytes) -> bool:
    """Tell whether END occurs before the footer.

    There ``rapidgzip`` reads on, at 10 ms per kilobyte.
    """
    return next(_find(END, stream[:-_FOOTER_BYTES]), None) is not None


def _decode_first(part: _Part) -> tuple[bytes | None, int | None]:
    """Decode a block whatever follows it; returns its text and the byte at which damage begins.

    Fed byte by byte, the decoder returns the block before it reaches the damage after it. It also
    returns a block with a wrong CRC, so the CRC is computed again here. Text is None if the block
    itself is damaged.
    """
    decompressor, stream = bz2.BZ2Decompressor(), part.stream()
    if len(stream) < _MIN_STREAM:
        return None, 0
    parts: list[bytes] = []
    try:
        for n_read in range(1, len(stream) + 1):
            piece = decompressor.decompress(stream[n_read - 1 : n_read])
            while piece:
                parts.append(piece)
                piece = decompressor.decompress(b"")
            if parts:
                break
    except OSError:
        return None, 0
    data = b"".join(parts)
    if not data or _crc(data) != _bits(stream, 8 * len(_HEADER) + _MAGIC_BITS, _CRC_BITS):
        return None, 0
    n_left = len(stream) - n_read - _FOOTER_BYTES  # a remainder no longer than a footer is no loss
    return data, n_read - len(_HEADER) if n_left > _FOOTER_BYTES else None


def _crc(data: bytes) -> int:
    """Compute bzip2's CRC: zlib's, with the bits of each byte and of the result reversed."""
    reversed_crc = zlib.crc32(data.translate(_REVERSED))
    return int(f"{reversed_crc:032b}"[::-1], 2)
