/* What all parts of neuroshard/engine.h share: handles, text, version, errors, bytes. */
#ifndef NEUROSHARD_ENGINE_BASE_H_
#define NEUROSHARD_ENGINE_BASE_H_

#include <neuroshard/version.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NEUROSHARD_API __attribute__((visibility("default")))
#else
#define NEUROSHARD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct neuroshard_bytes neuroshard_bytes;
typedef struct neuroshard_cancellation neuroshard_cancellation;
typedef struct neuroshard_cost_models neuroshard_cost_models;
typedef struct neuroshard_error neuroshard_error;
typedef struct neuroshard_explanation neuroshard_explanation;
typedef struct neuroshard_plan neuroshard_plan;
typedef struct neuroshard_planner neuroshard_planner;
typedef struct neuroshard_workload neuroshard_workload;

/* ---- text ---------------------------------------------------------------------------------- */

/* `size` bytes at `data`; {NULL, 0} is empty. Fixed for ever. */
typedef struct neuroshard_text {
  const char* data;
  size_t size;
} neuroshard_text;

/* As a size: the text ends before its first 0 byte. {"h200_sim", NEUROSHARD_NUL_TERMINATED} */
#define NEUROSHARD_NUL_TERMINATED ((size_t)-1)

/* ---- version ------------------------------------------------------------------------------- */

/* Of the library that is running, such as "0.1.0"; NEUROSHARD_VERSION is that of this header. Both
   point to constants. Programs work with every library of the same major version that is not older
   than their header. */
NEUROSHARD_API const char* neuroshard_version(void);
/* The git commit the library was built from, or "unknown". */
NEUROSHARD_API const char* neuroshard_commit(void);

/* ---- errors -------------------------------------------------------------------------------- */

typedef int32_t neuroshard_status;
enum {
  NEUROSHARD_OK = 0,
  NEUROSHARD_INVALID_INPUT = 1, /* bad argument, bad or missing file: the message says where */
  NEUROSHARD_INFEASIBLE = 2,    /* no plan fits; the message names the smallest change found */
  NEUROSHARD_IO_ERROR = 3,      /* reading broke off, or a file could not be written */
  NEUROSHARD_UNAVAILABLE = 4,   /* hardware, driver or library missing */
  NEUROSHARD_CANCELLED = 5,     /* cancelled before there was any plan */
  NEUROSHARD_INTERNAL = 6,      /* a bug; please report it */
  NEUROSHARD_OUT_OF_MEMORY = 7  /* nothing else changed; the call may be repeated */
};

/* "NEUROSHARD_OK", ..; "unknown status" for any other number. A constant. */
NEUROSHARD_API const char* neuroshard_status_name(neuroshard_status status);

/* An empty error; NULL only when memory is exhausted. */
NEUROSHARD_API neuroshard_error* neuroshard_error_create(void);
NEUROSHARD_API void neuroshard_error_destroy(neuroshard_error* error);
/* Of the last call that was given `error`: NEUROSHARD_OK and "" after a success, and for NULL. The
   text stays until the next call that is given it. */
NEUROSHARD_API neuroshard_status neuroshard_error_status(const neuroshard_error* error);
NEUROSHARD_API neuroshard_text neuroshard_error_message(const neuroshard_error* error);

/* ---- bytes --------------------------------------------------------------------------------- */

/* The content; stays until the handle is destroyed. Empty for NULL. */
NEUROSHARD_API neuroshard_text neuroshard_bytes_view(const neuroshard_bytes* bytes);
/* Makes the file `path` hold exactly these bytes, or leaves it as it was: a temporary file beside
   it, synced and renamed. */
NEUROSHARD_API neuroshard_status neuroshard_bytes_write_file(const neuroshard_bytes* bytes,
                                                             neuroshard_text path,
                                                             neuroshard_error* error);
NEUROSHARD_API void neuroshard_bytes_destroy(neuroshard_bytes* bytes);

#ifdef __cplusplus
}
#endif

#endif
