/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two halves of the emulator share: emu.cc runs grids, emu_rt.c is the runtime with its memory and streams. Plain
   C. The switches are also reached by tests, through the extension module. */
#ifndef MT_CUDA_EMU_INTERNAL_H
#define MT_CUDA_EMU_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queued work of a stream (NULL: the default one): run(payload), on a copy of `nbytes` bytes. Runs now, or in late mode
   when somebody waits for it. */
void mt_emu_submit(void *stream, void (*run)(void *payload), const void *payload, size_t nbytes);
/* The device's memory can be touched between these two, and only there. */
void mt_emu_open(void);
void mt_emu_close(void);
/* The next cudaGetLastError gives this; it stays the first of several. */
void mt_emu_error(int code);

/* Switches. Order of threads, blocks and woken threads: 0 forward, 1 reverse, others seed a shuffle. Late: work waits until
   somebody waits for it. Fail: the n-th call from now on of an allocation (0), a copy (1) or a launch (2) fails; n < 0
   never. */
void mt_emu_set_order(unsigned order);
void mt_emu_set_late(bool on);
void mt_emu_set_fail(int kind, int n);
bool mt_emu_fails(int kind);
enum { MT_EMU_FAIL_ALLOC, MT_EMU_FAIL_COPY, MT_EMU_FAIL_LAUNCH, MT_EMU_FAIL_KINDS };

/* The allocator says which bytes of its blocks are in use, for the address sanitizer; in the order of the stream. */
void mt_emu_mark(void *stream, void *data, size_t nbytes, bool used);

/* Ends the process with a message that names the source line: a kernel broke the rules of the device. */
void mt_emu_die(const char *what, int line) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
