#pragma once

// The functions of libnccl that are called here, found when they are first needed. For CUDA sources
// only.

#include <nccl.h>

#include "cuda/library.h"

namespace neuroshard::cuda {

struct NcclFunctions {
  decltype(ncclGetUniqueId)* get_unique_id;
  decltype(ncclCommInitRankConfig)* init_rank;
  decltype(ncclCommAbort)* abort;
  decltype(ncclCommDestroy)* destroy;
  decltype(ncclCommFinalize)* finalize;
  decltype(ncclCommGetAsyncError)* async_error;
  decltype(ncclGetErrorString)* error_string;
  decltype(ncclGroupStart)* group_start;
  decltype(ncclGroupEnd)* group_end;
  decltype(ncclSend)* send;
  decltype(ncclRecv)* receive;
  decltype(ncclAllReduce)* all_reduce;
  decltype(ncclReduceScatter)* reduce_scatter;
  decltype(ncclAllGather)* all_gather;

  /// Errors: kUnavailable naming what is missing.
  static Result<NcclFunctions> load() {
    NEUROSHARD_ASSIGN_OR_RETURN(const Library library, Library::open("libnccl.so.2"));
    NcclFunctions nccl{};
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclGetUniqueId", nccl.get_unique_id));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclCommInitRankConfig", nccl.init_rank));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclCommAbort", nccl.abort));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclCommDestroy", nccl.destroy));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclCommFinalize", nccl.finalize));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclCommGetAsyncError", nccl.async_error));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclGetErrorString", nccl.error_string));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclGroupStart", nccl.group_start));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclGroupEnd", nccl.group_end));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclSend", nccl.send));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclRecv", nccl.receive));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclAllReduce", nccl.all_reduce));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclReduceScatter", nccl.reduce_scatter));
    NEUROSHARD_RETURN_IF_ERROR(library.find("ncclAllGather", nccl.all_gather));
    return nccl;
  }
};

}  // namespace neuroshard::cuda
