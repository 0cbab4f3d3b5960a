# neuroshard_embed(target function file...) links data files into a library, so that a static binary
# needs nothing beside it. The generated source defines
#   std::span<const EmbeddedFile> neuroshard::<function>();   in the order given
# which the caller declares (engine/core/embedded_file.h). Files are read again when they change.
set(NEUROSHARD_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(neuroshard_embed target function)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_${function}.cpp)
  list(JOIN ARGN "|" files)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFUNCTION=${function} "-DFILES=${files}"
            -P ${NEUROSHARD_EMBED_SCRIPT}
    DEPENDS ${ARGN} ${NEUROSHARD_EMBED_SCRIPT} COMMENT "Embedding ${function}" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

# Run as a script (cmake -P): write the source.
if(CMAKE_SCRIPT_MODE_FILE AND DEFINED OUTPUT)
  string(REPLACE "|" ";" FILES "${FILES}")
  set(arrays "")
  set(entries "")
  set(count 0)
  foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME_WLE)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND arrays "constexpr unsigned char kFile${count}[] = {${bytes}0};\n")  # 0: never empty
    string(APPEND entries "      EmbeddedFile{\"${name}\", view(kFile${count}, sizeof kFile${count} - 1)},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  set(view "std::string_view view(const unsigned char* bytes, std::size_t size) {\n")
  string(APPEND view "  return {reinterpret_cast<const char*>(bytes), size};\n}\n")
  set(body "  static const std::array<EmbeddedFile, ${count}> files{\n${entries}  };\n  return files;\n")
  if(count EQUAL 0)
    set(view "")
    set(body "  return {};\n")
  endif()
  file(WRITE ${OUTPUT} "#include <array>\n#include <cstddef>\n#include <span>\n#include <string_view>\n\n"
       "#include \"engine/core/embedded_file.h\"\n\nnamespace neuroshard {\nnamespace {\n${arrays}${view}}  // namespace\n\n"
       "std::span<const EmbeddedFile> ${FUNCTION}();\nstd::span<const EmbeddedFile> ${FUNCTION}() {\n${body}}\n\n}  // namespace neuroshard\n")
endif()
