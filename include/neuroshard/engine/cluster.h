/* Part of neuroshard/engine.h: the devices to place tables on, and what counts as their memory. */
#ifndef NEUROSHARD_ENGINE_CLUSTER_H_
#define NEUROSHARD_ENGINE_CLUSTER_H_

#include <neuroshard/engine/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a training step keeps beside the tables in the memory of their devices, as TorchRec's
   planner counts it for a pipeline (PipelineType). */
enum {
  NEUROSHARD_BUFFERS_DEFAULT = 0,    /* of a plan that is replanned or checked: its own; else OFF */
  NEUROSHARD_BUFFERS_OFF = 1,        /* not counted */
  NEUROSHARD_BUFFERS_TRAIN_BASE = 2, /* lookups and outputs of a batch */
  NEUROSHARD_BUFFERS_TRAIN_SPARSE_DIST = 3, /* lookups of two batches */
  /* Of three, and of tables with a cache of rows those of seven more. */
  NEUROSHARD_BUFFERS_TRAIN_PREFETCH_SPARSE_DIST = 4
};

/* The devices to place tables on. */
typedef struct neuroshard_cluster {
  size_t struct_size;
  int64_t memory_bytes; /* for tables, and `buffers`, on each device, 1 or more */
  int32_t devices;      /* 1 to 65,536 */
  /* Of one host, all of them alike and their devices in order: for costs that go by it
     ("torchrec"), and for exports of the plan, which remembers it. 0: 8, or one host of all where 8
     are no divisor. */
  int32_t devices_per_host;
  /* Memory of each host for tables that the devices have no room for, or that are cheaper there
     than in what room is left, weights and what optimizers keep for each. 0: none for searches,
     which then have all tables on devices; not watched when a plan is replanned or checked. Only
     "torchrec" knows what such tables cost: with other cost models it changes nothing, which
     searches log. */
  int64_t host_memory_bytes;
  int32_t buffers;  /* NEUROSHARD_BUFFERS_..: plans that are made remember it */
  int32_t reserved; /* 0 */
} neuroshard_cluster;

#ifdef __cplusplus
}
#endif

#endif
