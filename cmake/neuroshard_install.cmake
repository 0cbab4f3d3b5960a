# What `cmake --install` puts where: the command, libengine with its headers, and how CMake
# (find_package(neuroshard)) and pkg-config find it, manual pages, completion, models, documents. Every path is relative, so that the installed
# tree may be moved.
include(CMakePackageConfigHelpers)

set(data ${CMAKE_INSTALL_DATADIR})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/neuroshard)

# Manual pages and completion, written by the command itself.
set(manual ${PROJECT_BINARY_DIR}/man1)
set(completion ${PROJECT_BINARY_DIR}/neuroshard.bash)
add_custom_command(OUTPUT ${completion}
  COMMAND neuroshard manual --output ${manual}
  COMMAND neuroshard completion bash --output ${completion}
  DEPENDS neuroshard COMMENT "Writing manual pages and completion" VERBATIM)
add_custom_target(neuroshard_manual ALL DEPENDS ${completion})

# Of a build of some targets only, as scripts/quickstart.sh makes, nothing is installed rather than half.
install(CODE "
  foreach(file \"$<TARGET_FILE:neuroshard>\" \"$<TARGET_FILE:neuroshard_shared>\"
               \"$<TARGET_FILE:neuroshard_static>\" \"${completion}\")
    if(NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \"\${file} is not built, nothing was installed: \"
                          \"first run cmake --build ${PROJECT_BINARY_DIR}\")
    endif()
  endforeach()")
install(TARGETS neuroshard RUNTIME)
install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN *.1)
install(FILES ${completion} DESTINATION ${data}/bash-completion/completions RENAME neuroshard)
install(TARGETS neuroshard_shared neuroshard_static EXPORT neuroshardTargets LIBRARY ARCHIVE)
install(DIRECTORY include/neuroshard ${PROJECT_BINARY_DIR}/include/neuroshard
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h PATTERN *.hpp)
install(DIRECTORY models/ DESTINATION ${data}/neuroshard/models FILES_MATCHING PATTERN *.safetensors PATTERN measured EXCLUDE)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${data}/doc/neuroshard)

# Beside each other as in the source tree, so that the paths in the documents hold in both.
install(DIRECTORY docs examples python DESTINATION ${data}/doc/neuroshard
        PATTERN __pycache__ EXCLUDE)
install(FILES models/README.md DESTINATION ${data}/doc/neuroshard/models)

install(EXPORT neuroshardTargets NAMESPACE neuroshard:: DESTINATION ${package})
configure_package_config_file(cmake/neuroshardConfig.cmake.in
  ${PROJECT_BINARY_DIR}/neuroshardConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/neuroshardConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/neuroshardConfig.cmake
              ${PROJECT_BINARY_DIR}/neuroshardConfigVersion.cmake DESTINATION ${package})

file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/neuroshard.pc.in ${PROJECT_BINARY_DIR}/neuroshard.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/neuroshard.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
