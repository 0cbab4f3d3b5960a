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

/* In which numbers pooled embeddings, and their gradients backward, travel between devices. */
enum {
  NEUROSHARD_EXCHANGE_DEFAULT =
      0, /* of a plan that is replanned or explained: its own; else FP32 */
  NEUROSHARD_EXCHANGE_FP32 = 1,
  NEUROSHARD_EXCHANGE_FP16 = 2,
  NEUROSHARD_EXCHANGE_BF16 = 3,
  NEUROSHARD_EXCHANGE_FP8 = 4,  /* rows of 128 values, 8 bytes more each */
  NEUROSHARD_EXCHANGE_INT8 = 5, /* rows of 32 values, 8 bytes more each */
  NEUROSHARD_EXCHANGE_AUTO = 6  /* both ways whichever costs least; for neuroshard_planner_plan() */
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
  /* NEUROSHARD_EXCHANGE_..: plans that are made remember it, and costs are of it. Less precision
     changes what is trained, which no cost says; the trainer has to be told (TorchRec: a
     qcomm_codecs_registry of its sharders). AUTO never costs more than FP32; it takes two searches,
     with the limits of the options each. */
  int32_t exchange_forward;
  int32_t exchange_backward; /* DEFAULT: as forward */
} neuroshard_cluster;

#ifdef __cplusplus
}
#endif

#endif
