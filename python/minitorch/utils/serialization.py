# SPDX-License-Identifier: BSD-3-Clause
"""Settings of torch.save and torch.load."""


class _LoadConfig:
    """Settings of loading: map files, flags of the maps, byte order of files that do not say theirs."""

    mmap = False
    endianness = None
    mmap_flags = 2  # MAP_PRIVATE
    calculate_storage_offsets = False


class _SaveConfig:
    """Settings of saving: checksums, alignment of records, pinned memory for copies from a device."""

    compute_crc32 = True
    use_pinned_memory_for_d2h = False
    storage_alignment = 64


class config:
    """config.load and config.save hold the settings."""

    load = _LoadConfig()
    save = _SaveConfig()
