// Linked instead of the CUDA sources by builds that have none: same functions, honest answers.
#include "cuda/device.h"

#include "cuda/lookup/embedding_bag.h"
#include "cuda/lookup/index_pool.h"
#include "cuda/memory.h"
#include "cuda/ranks/communicator.h"
#include "cuda/timer.h"
#include "cuda/training/training_backend.h"

namespace neuroshard::cuda {

Status device_available() {
  return unavailable("backend cuda: this build has no CUDA kernels; use another --backend");
}

Result<DeviceInfo> device_info() { return device_available(); }
Result<DeviceClocks> device_clocks() { return device_available(); }
Status synchronize() { return device_available(); }

Result<void*> allocate(std::size_t) { return device_available(); }
void release(void*) noexcept {}
Status upload(void*, const void*, std::size_t) { return device_available(); }
Status download(void*, const void*, std::size_t) { return device_available(); }
Status copy(void*, const void*, std::size_t) { return device_available(); }
Status fill_zero(void*, std::size_t) { return device_available(); }
Status fill_small_values(void*, std::size_t, DataType) { return device_available(); }

Result<DeviceStream> make_device_stream(std::span<const std::int64_t>,
                                        std::span<const std::int64_t>, const Scatter&,
                                        const Scatter&) {
  return device_available();
}
Result<DeviceStream> restrict_rows(const DeviceStream&, std::int64_t, std::int64_t, std::int64_t) {
  return device_available();
}
Result<std::unique_ptr<Communicator>> make_communicator(Rendezvous&, std::chrono::milliseconds) {
  return device_available();
}
Result<std::unique_ptr<TrainingBackend>> make_training_backend(const TrainingOptions&) {
  return device_available();
}
Result<const nn::Backend*> training_backend() { return device_available(); }
Status delay(std::chrono::nanoseconds) { return device_available(); }
Result<std::unique_ptr<Timer>> make_timer() { return device_available(); }
Result<std::unique_ptr<EmbeddingBag>> make_embedding_bag() { return device_available(); }

}  // namespace neuroshard::cuda
