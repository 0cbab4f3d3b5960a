#pragma once

// What the GPU's compiler shall unroll, or shall not; nothing to the host's.

#if defined(__CUDA_ARCH__)
#define NEUROSHARD_UNROLL _Pragma("unroll")
#define NEUROSHARD_NO_UNROLL _Pragma("unroll 1")
#else
#define NEUROSHARD_UNROLL
#define NEUROSHARD_NO_UNROLL
#endif
