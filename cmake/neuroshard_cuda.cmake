# Decides whether this build has GPU kernels and for which architectures, and makes CUDA a language
# of the project. Include it at the top level: languages are enabled per folder and below.
#   NEUROSHARD_CUDA                AUTO: when nvcc is there and the build can use it; ON: or an error;
#                                  EMULATED: the same sources by the host's compiler, for tests
#                                  (tests/emulated_cuda)
#   NEUROSHARD_CUDA_ARCHITECTURES  empty: every one the toolkit knows from sm_75 to sm_100 and PTX
#                                  for later ones; sm_90 alone in a developer's build
# Sets NEUROSHARD_CUDA_ENABLED. Nothing but the CUDA runtime is linked, statically; it finds the
# driver at run time, and cuBLAS, NCCL and NVML are opened when they are first needed. So the binary
# starts on machines that have none of them.
set(NEUROSHARD_CUDA AUTO CACHE STRING "GPU kernels: AUTO (when nvcc is there), ON, OFF, EMULATED")
set_property(CACHE NEUROSHARD_CUDA PROPERTY STRINGS AUTO ON OFF EMULATED)
set(NEUROSHARD_CUDA_ARCHITECTURES "" CACHE STRING "GPU architectures, e.g. 80;90; empty: all of them")
if(NOT NEUROSHARD_CUDA MATCHES "^(AUTO|ON|OFF|EMULATED)$")
  message(FATAL_ERROR "NEUROSHARD_CUDA is '${NEUROSHARD_CUDA}', expected AUTO, ON, OFF or EMULATED")
endif()

# A fully static program cannot load the driver, and the sanitizers' shadow memory is where the
# driver maps the GPU's.
set(neuroshard_no_cuda "")
if(NEUROSHARD_STATIC)
  set(neuroshard_no_cuda "NEUROSHARD_STATIC: a static program cannot load the driver")
elseif(NEUROSHARD_SANITIZE OR NEUROSHARD_FUZZ)
  set(neuroshard_no_cuda "sanitizers and the driver want the same addresses")
endif()
if(NEUROSHARD_CUDA STREQUAL "ON" AND neuroshard_no_cuda)
  message(FATAL_ERROR "NEUROSHARD_CUDA=ON with ${neuroshard_no_cuda}")
endif()

if(NEUROSHARD_CUDA STREQUAL "EMULATED" AND NOT NEUROSHARD_DEVELOPER)
  message(FATAL_ERROR "NEUROSHARD_CUDA=EMULATED is for tests: it needs NEUROSHARD_DEVELOPER=ON")
endif()

set(NEUROSHARD_CUDA_ENABLED OFF)
if(NEUROSHARD_CUDA MATCHES "^(AUTO|ON)$" AND NOT neuroshard_no_cuda)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(NEUROSHARD_CUDA_ENABLED ON)
  elseif(NEUROSHARD_CUDA STREQUAL "ON")
    message(FATAL_ERROR "NEUROSHARD_CUDA=ON, but no nvcc was found; name it with CMAKE_CUDA_COMPILER")
  endif()
endif()

if(NEUROSHARD_CUDA_ENABLED)
  if(NEUROSHARD_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES ${NEUROSHARD_CUDA_ARCHITECTURES})
  elseif(NEUROSHARD_DEVELOPER)
    set(CMAKE_CUDA_ARCHITECTURES 90-real)
  else()
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE listed)
    string(REGEX MATCHALL "compute_[0-9]+" listed "${listed}")
    set(CMAKE_CUDA_ARCHITECTURES "")
    set(newest "")
    foreach(architecture IN LISTS listed)
      string(REPLACE "compute_" "" number ${architecture})
      if(number GREATER_EQUAL 75 AND number LESS_EQUAL 100)
        list(APPEND CMAKE_CUDA_ARCHITECTURES ${number}-real)
        set(newest ${number})
      endif()
    endforeach()
    list(APPEND CMAKE_CUDA_ARCHITECTURES ${newest}-virtual)
  endif()
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 speaks C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
endif()
message(STATUS "GPU kernels: ${NEUROSHARD_CUDA} ${NEUROSHARD_CUDA_ENABLED} ${CMAKE_CUDA_ARCHITECTURES} ${neuroshard_no_cuda}")
