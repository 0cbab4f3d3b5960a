/* Part of neuroshard/engine.h: what a hardware costs. */
#ifndef NEUROSHARD_ENGINE_COST_MODELS_H_
#define NEUROSHARD_ENGINE_COST_MODELS_H_

#include <neuroshard/engine/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The names of the cost models inside the library, by index: networks, and "torchrec", the formula
   of TorchRec's performance estimator. Out of range: empty text. */
NEUROSHARD_API size_t neuroshard_shipped_model_count(void);
NEUROSHARD_API neuroshard_text neuroshard_shipped_model_name(size_t index);

/* The shipped cost models of that name; empty means "h200_sim". */
NEUROSHARD_API neuroshard_status neuroshard_cost_models_shipped(neuroshard_text name,
                                                                neuroshard_cost_models** models,
                                                                neuroshard_error* error);

/* What TorchRec's formula counts with, in GB/s of 2^30 bytes, each from 1e-6 to 1e6; 0: TorchRec's
   own. */
typedef struct neuroshard_torchrec_bandwidths {
  size_t struct_size;
  double device_gbps;      /* a device's memory; 897 */
  double intra_host_gbps;  /* all-to-all on one host; 600 */
  double inter_host_gbps;  /* between hosts; 12.5 */
  double host_memory_gbps; /* between a device and its host's memory, for tables there; 32 */
  neuroshard_text model; /* of which release: "torchrec-1.4", or "torchrec": the newest; also "" */
  /* What a cache of 5 % of a table's rows serves: "load-factor", also "": 5 % of the lookups;
     "curve": what the table's reuse histogram tells of its hot rows. */
  neuroshard_text cache_hits;
} neuroshard_torchrec_bandwidths;

/* The cost model "torchrec" of a hardware with these bandwidths; NULL means TorchRec's own, as
   those of the shipped one. Networks have the hardware that they were trained on. */
NEUROSHARD_API neuroshard_status
neuroshard_cost_models_torchrec(const neuroshard_torchrec_bandwidths* bandwidths,
                                neuroshard_cost_models** models, neuroshard_error* error);

/* From the bytes of a cost-model file, as `neuroshard train` writes them. `source` names them in
   messages and in plans. */
NEUROSHARD_API neuroshard_status neuroshard_cost_models_parse(neuroshard_text bytes,
                                                              neuroshard_text source,
                                                              neuroshard_cost_models** models,
                                                              neuroshard_error* error);
NEUROSHARD_API neuroshard_status neuroshard_cost_models_read_file(neuroshard_text path,
                                                                  neuroshard_cost_models** models,
                                                                  neuroshard_error* error);

/* What a model computes beside its tables, and on what. */
typedef struct neuroshard_dense_model {
  size_t struct_size;
  neuroshard_text bytes;  /* of a model file (docs/FILE_FORMATS.md, "Model") */
  neuroshard_text source; /* what messages and plans call them, for example a file name */
  /* The hardware: "H100-80G", "H100-80G+cluster" or the path of a profile's file. Empty: the
     simulated one that the cost models, or the plan's, are of. */
  neuroshard_text profile;
} neuroshard_dense_model;

/* The networks `tables` with that model's dense part: costs are then of whole training steps, in
   which exchanges hide behind dense layers, and searches make those shorter. What the dense part
   takes is SIMULATED. A dense part that `tables` have is replaced. Errors: INVALID_INPUT, also for
   "torchrec", whose formula adds up all that a device does, and where no profile is given and the
   cost models are of no built-in one. That a model does not fit the tables comes out of searches.
 */
NEUROSHARD_API neuroshard_status neuroshard_cost_models_of_steps(
    const neuroshard_cost_models* tables, const neuroshard_dense_model* model,
    neuroshard_cost_models** models, neuroshard_error* error);

typedef struct neuroshard_cost_models_info {
  size_t struct_size;
  neuroshard_text name;   /* shipped name, or the source without folders */
  neuroshard_text sha256; /* of the file's bytes, 64 hexadecimal digits */
  neuroshard_text compute_hardware;
  neuroshard_text communication_hardware;
  int64_t min_batch_size; /* a workload's batch size must be in the range they were trained for */
  int64_t max_batch_size;
  int32_t devices;   /* the only device count they know; 0: any */
  int32_t simulated; /* 1: costs, or parts of them, are those of simulated hardware, 0: measured */
  int32_t row_parts; /* in how many parts at most they know rows ("torchrec": even blocks); or 1 */
  /* Where any device count will do: the least and the most of the training data, beyond which costs
     are guesses (but for one device, which exchanges nothing); 0: not known. */
  int32_t min_devices;
  int32_t max_devices;
  int32_t reserved; /* 0 */
  /* Where costs are of whole training steps: the model's source without folders, its sha256, and
     what its dense part is simulated on; else empty. */
  neuroshard_text dense_model;
  neuroshard_text dense_model_sha256;
  neuroshard_text dense_hardware;
} neuroshard_cost_models_info;

/* Fills in *info, whose struct_size the caller has set. Texts belong to `models`. */
NEUROSHARD_API neuroshard_status
neuroshard_cost_models_get_info(const neuroshard_cost_models* models,
                                neuroshard_cost_models_info* info, neuroshard_error* error);
NEUROSHARD_API void neuroshard_cost_models_destroy(neuroshard_cost_models* models);

#ifdef __cplusplus
}
#endif

#endif
