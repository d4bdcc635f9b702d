/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping on a 32-bit word. On Linux this is the futex call; elsewhere one mutex and one condition
   serve all words, which is enough for a pool that sleeps rarely. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/parallel_internal.h"

#if defined(__linux__)
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void mt_word_wait(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

void mt_word_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
#else
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

void mt_word_wait(_Atomic uint32_t *word, uint32_t seen)
{
    pthread_mutex_lock(&mutex);
    if (atomic_load(word) == seen)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

void mt_word_wake(_Atomic uint32_t *word)
{
    (void)word;
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}
#endif
