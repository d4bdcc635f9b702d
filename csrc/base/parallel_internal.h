/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting on a 32-bit word: futex on Linux, one mutex and condition elsewhere. Wake-ups may be
   spurious, so callers loop. Waking a word that nobody sleeps on costs a system call only where the
   platform needs it. */
#ifndef MT_BASE_PARALLEL_INTERNAL_H
#define MT_BASE_PARALLEL_INTERNAL_H

#include <stdatomic.h>
#include <stdint.h>

/* Returns when the word may differ from `seen`. */
void mt_word_wait(_Atomic uint32_t *word, uint32_t seen);
/* Wakes everybody who waits on the word. */
void mt_word_wake(_Atomic uint32_t *word);

static inline void mt_cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
