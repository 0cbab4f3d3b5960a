# One room of the code = one static library made of every source in its folder.
#   neuroshard_room(NAME [FOLDERS sub...] [SMALL file...] [READING folder] [LINK target...])
# SMALL: sources that run once a command, and are therefore compiled to be small rather than fast.
# READING: the only folder that reads files (default: all may), whose branches fuzzing follows.
# Files named *_avx2.cpp and *_avx512.cpp are compiled for that instruction set and reached only
# through run-time dispatch. Files with avx2, avx512 or neon in their names are left out where
# processors cannot have it. -ffp-contract=off keeps scalar results equal on every compiler.
add_library(neuroshard_flags INTERFACE)
target_include_directories(neuroshard_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(neuroshard_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                       -ffp-contract=off)
# What headers define stays inside libengine.a: "unique" symbols could not be made local.
target_compile_options(neuroshard_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
# g++ 12 sees overlapping memcpy in std::string's operator+ where there is none (GCC bug 105651).
target_compile_options(neuroshard_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# g++ takes what a joined folder includes for headers, whose nameless namespaces differ from file to file.
if(NEUROSHARD_JOIN_FOLDERS)
  target_compile_options(neuroshard_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
if(NEUROSHARD_DEVELOPER)
  target_compile_options(neuroshard_flags INTERFACE -Werror)
endif()
if(NEUROSHARD_SANITIZE)
  target_compile_options(neuroshard_flags INTERFACE -fsanitize=${NEUROSHARD_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # Instrumented, g++ 12 takes parts of std::regex for uninitialised; GCC documents such false alarms.
  target_compile_options(neuroshard_flags INTERFACE
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(neuroshard_flags INTERFACE -fsanitize=${NEUROSHARD_SANITIZE})
  # Forty programs of a few dozen megabytes each: a third of GNU ld's time, where it is installed.
  find_program(NEUROSHARD_LLD ld.lld)
  if(NEUROSHARD_LLD)
    target_link_options(neuroshard_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fuse-ld=lld>)
  endif()
endif()

set(NEUROSHARD_AVX2_FLAGS "-mavx2;-mfma;-mf16c;-ffp-contract=fast")
set(NEUROSHARD_AVX512_FLAGS "${NEUROSHARD_AVX2_FLAGS};-mavx512f;-mavx512vl;-mavx512dq;-mavx512bw")
# g++ 12 takes what its own AVX-512 headers leave undefined on purpose for a mistake (GCC bug 105593).
list(APPEND NEUROSHARD_AVX512_FLAGS
     $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

# Changes the list: neuroshard_simd_sources(sources), not of its values.
function(neuroshard_simd_sources list)
  set(sources ${${list}})
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(FILTER sources EXCLUDE REGEX "avx(2|512)[^/]*$")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(FILTER sources EXCLUDE REGEX "neon[^/]*$")
  endif()
  set(${list} ${sources} PARENT_SCOPE)
  foreach(source IN LISTS sources)
    if(source MATCHES "_avx2\\.cpp$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${NEUROSHARD_AVX2_FLAGS}"
                                  SKIP_PRECOMPILE_HEADERS ON)
    elseif(source MATCHES "_avx512\\.cpp$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${NEUROSHARD_AVX512_FLAGS}"
                                  SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# Sanitizer builds parse the standard library once a target instead of once a file, a quarter of
# their time. No other build does, so that a missing #include is found.
function(neuroshard_precompile target)
  if(NEUROSHARD_SANITIZE)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <chrono> <cmath> <functional>
      <limits> <map> <memory> <numeric> <optional> <set> <span> <string> <string_view> <utility>
      <vector>)
  endif()
endfunction()

# Of an inline function or a template that many objects have, a linker keeps the one it meets first.
# Programs whose own objects are not optimised therefore link the rooms before them: otherwise the
# rooms run the copies of those objects, in sanitized searches two and a half times as long, and their
# own, optimised and instrumented as they are meant to be, are tested by nobody.
function(neuroshard_rooms_first target)
  set(archives ${ARGN})
  list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:neuroshard_\\1>")
  list(JOIN archives " " archives)
  target_link_options(${target} PRIVATE "SHELL:-Wl,--whole-archive ${archives} -Wl,--no-whole-archive")
endfunction()
set(NEUROSHARD_ROOMS search engine nn core cuda io)

# For what hands its arguments on to the rooms and does no work itself: under sanitizers, optimising
# takes longer than it saves.
function(neuroshard_thin target)
  neuroshard_precompile(${target})
  if(NEUROSHARD_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Sources that no reader of files comes to: fuzzing does not follow their branches. Not
# -fno-sanitize=fuzzer-no-link, with which clang takes no header that was precompiled without it.
function(neuroshard_no_coverage)
  if(NEUROSHARD_FUZZ)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS
      -fno-sanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table,stack-depth)
  endif()
endfunction()

# The files of a folder are one for the compiler (NEUROSHARD_JOIN_FOLDERS): most of the time that it
# takes a file goes to what the others include, too. A folder is therefore what a helper's name is
# unique in. A missing #include stays hidden so: developers' builds take files one by one, and
# tests/architecture looks for it. Not by UNITY_BUILD, which leaves out files with options of
# their own, as most have here. Changes the list. SMALL as in neuroshard_room().
function(neuroshard_join_folders list)
  cmake_parse_arguments(JOIN "" "" "SMALL" ${ARGN})
  set(small ${JOIN_SMALL})
  if(NEUROSHARD_JOIN_FOLDERS)
    set(joined "")
    foreach(source IN LISTS ${list})
      get_filename_component(folder ${source} DIRECTORY)
      if(source MATCHES "_(avx2|avx512|neon)\\.cpp$")  # compiled for another processor
        list(APPEND joined ${source})
      else()
        file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
        set(file ${CMAKE_CURRENT_BINARY_DIR}/folders/${name}/all.cpp)
        if(source IN_LIST JOIN_SMALL)
          set(file ${CMAKE_CURRENT_BINARY_DIR}/folders/${name}/small.cpp)
          list(APPEND small ${file})
        endif()
        list(APPEND files ${file})
        string(APPEND text_${file} "#include \"${source}\"\n")
      endif()
    endforeach()
    list(REMOVE_DUPLICATES files)
    foreach(file IN LISTS files)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text_${file}}" @ONLY)
    endforeach()
    set(${list} ${joined} ${files} PARENT_SCOPE)
  endif()
  list(REMOVE_DUPLICATES small)
  set_property(SOURCE ${small} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
endfunction()

function(neuroshard_room name)
  cmake_parse_arguments(ROOM "" "READING" "FOLDERS;SMALL;LINK" ${ARGN})
  set(patterns *.cpp)
  foreach(folder IN LISTS ROOM_FOLDERS)
    list(APPEND patterns ${folder}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources)
    message(FATAL_ERROR "room ${name} has no sources")
  endif()
  list(SORT sources)
  neuroshard_simd_sources(sources)
  neuroshard_join_folders(sources SMALL ${ROOM_SMALL})
  foreach(source IN LISTS sources)
    if(ROOM_READING AND NOT source MATCHES "/${ROOM_READING}/[^/]*$")
      neuroshard_no_coverage(${source})
    endif()
  endforeach()
  add_library(neuroshard_${name} STATIC ${sources})
  target_link_libraries(neuroshard_${name} PUBLIC neuroshard_flags Threads::Threads ${ROOM_LINK})
  neuroshard_precompile(neuroshard_${name})
  # Fuzzing follows the branches of the rooms that read; networks and search would take twice as long.
  if(NEUROSHARD_FUZZ AND NOT name MATCHES "^(nn|search)$")
    target_compile_options(neuroshard_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
