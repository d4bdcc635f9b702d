# SPDX-License-Identifier: BSD-3-Clause
"""The zip container of torch.save: stored records under one folder, each starting at a multiple of 64
bytes."""

import os
import struct
import zlib

_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_END64 = struct.Struct("<IQHHIIQQQQ")
_LOCATOR = struct.Struct("<IIQI")
_LOCAL_MARK, _CENTRAL_MARK, _DESCRIPTOR_MARK = 0x04034B50, 0x02014B50, 0x08074B50
_END_MARK, _END64_MARK, _LOCATOR_MARK = 0x06054B50, 0x06064B50, 0x07064B50
_UTF8, _SIZES_FOLLOW = 0x0800, 0x0008
_MAX32 = 0xFFFFFFFF
_OLDEST, _NEWEST = 1, 10

_CORRUPT = (
    "PytorchStreamReader failed %s. This is an internal miniz error. If you are seeing this error, there "
    "is a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was "
    "not saved properly, was transferred incorrectly, or the file was modified after saving."
)


def _corrupt(what):
    return RuntimeError(_CORRUPT % what)


# --- writing ---


class ArchiveWriter:
    """Writes records one after the other to a file object; `finish` writes the directory."""

    def __init__(self, file, folder, alignment=64, checksums=True):
        self.file = file
        self.folder = folder
        self.alignment = alignment
        self.checksums = checksums
        self.at = 0
        self.entries = []

    def _write(self, data):
        self.file.write(data)
        self.at += len(data) if isinstance(data, bytes) else data.nbytes

    def write_record(self, name, data, size=None):
        """write_record(name, data, size=None): `data` None leaves a hole of `size` bytes."""
        full = ("%s/%s" % (self.folder, name)).encode()
        size = len(data) if data is not None and size is None else size
        start = self.at
        wide = size >= _MAX32 or start >= _MAX32
        extra = struct.pack("<HHQQ", 1, 16, 0, 0) if wide else b""
        lead = start + _LOCAL.size + len(full) + len(extra) + 4
        filler = -lead % self.alignment
        extra += struct.pack("<2sH", b"FB", filler) + b"Z" * filler
        flags = _UTF8 | (_SIZES_FOLLOW if size else 0)
        self._write(
            _LOCAL.pack(_LOCAL_MARK, 0, flags, 0, 0, 0, 0, 0, 0, len(full), len(extra)) + full + extra
        )
        crc = 0
        if data is None:
            self._write_hole(size)
        elif size:
            crc = zlib.crc32(data) if self.checksums else 0
            self._write(data)
        if size:
            self._write(struct.pack("<IIQQ" if wide else "<IIII", _DESCRIPTOR_MARK, crc, size, size))
        self.entries.append((full, crc, size, start))

    def _write_hole(self, size):
        block = bytes(min(size, 1 << 20))
        while size:
            part = block[:size]
            self._write(part)
            size -= len(part)

    def finish(self):
        """finish(): the version, an identifier of the contents, and the directory of records."""
        self.write_record("version", b"3\n")
        names = zlib.crc32(b"\0".join([entry[0] for entry in self.entries]))
        sums = zlib.crc32(b"".join([struct.pack("<I", entry[1]) for entry in self.entries]))
        self.write_record(".data/serialization_id", b"%020d%020d" % (names, sums))
        start = self.at
        self._write(b"".join([self._central(*entry) for entry in self.entries]))
        length, count = self.at - start, len(self.entries)
        end64 = self.at
        self._write(_END64.pack(_END64_MARK, 44, 0x031E, 45, 0, 0, count, count, length, start))
        self._write(_LOCATOR.pack(_LOCATOR_MARK, 0, end64, 1))
        counts = min(count, 0xFFFF)
        self._write(_END.pack(_END_MARK, 0, 0, counts, counts, min(length, _MAX32), min(start, _MAX32), 0))

    @staticmethod
    def _central(full, crc, size, start):
        extra = b""
        if size >= _MAX32:
            extra += struct.pack("<QQ", size, size)
        if start >= _MAX32:
            extra += struct.pack("<Q", start)
        if extra:
            extra = struct.pack("<HH", 1, len(extra)) + extra
        short = min(size, _MAX32)
        flags = _UTF8 | (_SIZES_FOLLOW if size else 0)
        lengths = (len(full), len(extra), 0)
        head = _CENTRAL.pack(
            _CENTRAL_MARK,
            *(0, 45 if extra else 0, flags, 0, 0, 0),
            *(crc, short, short),
            *lengths,
            *(0, 0, 0),
            min(start, _MAX32),
        )
        return head + full + extra


def folder_of(path):
    """folder_of(path): the name of the folder inside the file at `path`: its stem."""
    if not path.isascii():
        return "archive"
    name = path[max(path.rfind("/"), path.rfind("\\")) + 1 :]
    dot = name.rfind(".")
    name = name if dot < 0 else name[:dot]
    if not name:
        raise RuntimeError("invalid file name: %s" % path)
    return name


# --- reading ---


class _Entry:
    __slots__ = ("name", "method", "crc", "packed", "size", "header")


class ArchiveReader:
    """Reads the records of a file object from its current position on."""

    def __init__(self, file):
        self.file = file
        self.origin = file.tell()
        file.seek(0, os.SEEK_END)
        self.length = file.tell() - self.origin
        self.entries = {}
        directory, count = self._find_directory()
        self._read_directory(directory, count)
        self._strip_folder()
        self._check_version()

    def _read_at(self, start, size):
        if start < 0 or size < 0 or start + size > self.length:
            raise _corrupt("reading zip archive: invalid header or archive is corrupted")
        self.file.seek(self.origin + start)
        data = self.file.read(size)
        if len(data) != size:
            raise _corrupt("reading zip archive: file read failed")
        return data

    def _find_directory(self):
        if self.length < _END.size:
            raise _corrupt("reading zip archive: not a ZIP archive")
        tail_at = max(0, self.length - 65536 - _END.size)
        tail = self._read_at(tail_at, self.length - tail_at)
        found = tail.rfind(struct.pack("<I", _END_MARK), 0, len(tail) - _END.size + 4)
        if found < 0:
            raise _corrupt("reading zip archive: failed finding central directory")
        fields = _END.unpack_from(tail, found)
        count, size, start = fields[4], fields[5], fields[6]
        if count == 0xFFFF or size == _MAX32 or start == _MAX32:
            mark, _, end64, _ = _LOCATOR.unpack(self._read_at(tail_at + found - _LOCATOR.size, _LOCATOR.size))
            if mark == _LOCATOR_MARK:
                fields = _END64.unpack(self._read_at(end64, _END64.size))
                if fields[0] != _END64_MARK:
                    raise _corrupt("reading zip archive: invalid header or archive is corrupted")
                count, size, start = fields[7], fields[8], fields[9]
        return self._read_at(start, size), count

    def _read_directory(self, data, count):
        at = 0
        for _ in range(count):
            if at + _CENTRAL.size > len(data):
                raise _corrupt("reading zip archive: invalid header or archive is corrupted")
            fields = _CENTRAL.unpack_from(data, at)
            name_at = at + _CENTRAL.size
            extra_at = name_at + fields[10]
            at = extra_at + fields[11] + fields[12]
            if fields[0] != _CENTRAL_MARK or at > len(data):
                raise _corrupt("reading zip archive: invalid header or archive is corrupted")
            entry = _Entry()
            entry.name = data[name_at:extra_at].decode("utf-8", "replace")
            entry.method, entry.crc = fields[4], fields[7]
            wide = self._wide_fields(data[extra_at : extra_at + fields[11]])
            values = []
            for value in (fields[9], fields[8], fields[16]):
                if value == _MAX32 and wide:
                    value = wide.pop(0)
                values.append(value)
            entry.size, entry.packed, entry.header = values
            self.entries[entry.name] = entry

    @staticmethod
    def _wide_fields(extra):
        """The 64-bit values of an extra field, in order."""
        at = 0
        while at + 4 <= len(extra):
            kind, size = struct.unpack_from("<HH", extra, at)
            if kind == 1:
                body = extra[at + 4 : at + 4 + size]
                return [value for (value,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8])]
            at += 4 + size
        return []

    def _strip_folder(self):
        if not self.entries:
            raise _corrupt("reading zip archive: archive does not contain any files")
        first = next(iter(self.entries))
        folder, slash, _ = first.partition("/")
        if not slash:
            raise RuntimeError("file in archive is not in a subdirectory: %s" % first)
        lead = folder + "/"
        self.entries = {n[len(lead) :]: e for n, e in self.entries.items() if n.startswith(lead)}

    def _check_version(self):
        name = ".data/version" if self.has_record(".data/version") else "version"
        if not self.has_record(name):
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false.  (Could this error message be '
                "improved?  "
                "If so, please report an enhancement request to PyTorch.)"
            )
        text = self.read_record(name)
        try:
            version = int(text)
        except ValueError:
            raise RuntimeError(
                "Couldn't parse the version %s as Long Long." % text.decode("ascii", "replace")
            ) from None
        if version < _OLDEST:
            raise RuntimeError(
                "Attempted to read a PyTorch file with version %d, but the minimum supported version for "
                "reading is %d. Your PyTorch script module file is too old. Please regenerate it with "
                "latest version of PyTorch to mitigate this issue." % (version, _OLDEST)
            )
        if version > _NEWEST:
            raise RuntimeError(
                "Attempted to read a PyTorch file with version %d, but the maximum supported version for "
                "reading is %d. The version of your PyTorch installation may be too old, please upgrade "
                "PyTorch to latest version to mitigate this issue." % (version, _NEWEST)
            )

    # --- records ---

    def has_record(self, name):
        """has_record(name) -> bool"""
        return name in self.entries

    def _entry(self, name):
        entry = self.entries.get(name)
        if entry is None:
            raise _corrupt("locating file %s: file not found" % name)
        return entry

    def record_size(self, name):
        """record_size(name) -> int: bytes of a record."""
        return self._entry(name).size

    def record_offset(self, name):
        """record_offset(name) -> int: where the bytes of a stored record begin, from the start of the
        file."""
        entry = self._entry(name)
        fields = _LOCAL.unpack(self._read_at(entry.header, _LOCAL.size))
        if fields[0] != _LOCAL_MARK:
            raise _corrupt("reading file %s: invalid header or archive is corrupted" % name)
        start = entry.header + _LOCAL.size + fields[9] + fields[10]
        if start + entry.packed > self.length:
            raise _corrupt("reading file %s: file read failed" % name)
        return start

    def _check_sum(self, entry, data):
        # Zero means that the writer took none.
        if entry.crc and zlib.crc32(data) != entry.crc:
            raise _corrupt("reading file %s: CRC-32 check failed" % entry.name)

    def read_record(self, name):
        """read_record(name) -> bytes"""
        entry = self._entry(name)
        start = self.record_offset(name)
        data = self._read_at(start, entry.packed)
        if entry.method == 8:
            data = self._inflate(entry, data)
        elif entry.method != 0 or entry.packed != entry.size:
            raise _corrupt("reading file %s: unsupported method" % name)
        self._check_sum(entry, data)
        return data

    @staticmethod
    def _inflate(entry, data):
        unpacker = zlib.decompressobj(-15)
        try:
            data = unpacker.decompress(data, entry.size) if entry.size else b""
        except zlib.error:
            raise _corrupt("reading file %s: decompression failed" % entry.name) from None
        if len(data) != entry.size:
            raise _corrupt("reading file %s: decompression failed" % entry.name)
        return data

    def read_into(self, name, view):
        """read_into(name, view): fills a writable buffer of the size of the record."""
        entry = self._entry(name)
        if entry.method != 0 or not hasattr(self.file, "readinto"):
            view[:] = self.read_record(name)
            return
        self.file.seek(self.origin + self.record_offset(name))
        done = 0
        while done < len(view):
            got = self.file.readinto(view[done:])
            if not got:
                raise _corrupt("reading file %s: file read failed" % name)
            done += got
        self._check_sum(entry, view)
