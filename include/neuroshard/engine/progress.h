/* Part of neuroshard/engine.h: how far a search is, and ending it from another thread. */
#ifndef NEUROSHARD_ENGINE_PROGRESS_H_
#define NEUROSHARD_ENGINE_PROGRESS_H_

#include <neuroshard/engine/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `done` of `total` units ("splits", ..) of `phase` are finished; total 0 = unknown. One thread at
   a time per search, possibly not the one that called. It may call neuroshard_cancel(). */
typedef void (*neuroshard_progress_fn)(void* user_data, neuroshard_text phase, int64_t done,
                                       int64_t total, neuroshard_text unit);

NEUROSHARD_API neuroshard_status
neuroshard_cancellation_create(neuroshard_cancellation** cancellation, neuroshard_error* error);
/* Ends every search that was given it, now and later, until it is reset: the search returns
   NEUROSHARD_OK with its best plan so far, or NEUROSHARD_CANCELLED when it has none. May be called
   from any thread, at any time, and from signal handlers. */
NEUROSHARD_API void neuroshard_cancel(neuroshard_cancellation* cancellation);
NEUROSHARD_API int32_t neuroshard_cancelled(const neuroshard_cancellation* cancellation);
/* REQUIRES that no search uses it. */
NEUROSHARD_API void neuroshard_cancellation_reset(neuroshard_cancellation* cancellation);
NEUROSHARD_API void neuroshard_cancellation_destroy(neuroshard_cancellation* cancellation);

#ifdef __cplusplus
}
#endif

#endif
