# kernelpro_embed_assets(target): makes one translation unit out of every file under assets/, so that
# text which people or models read is a file in the tree and yet inside the one binary.
function(kernelpro_embed_assets target)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/assets ${PROJECT_SOURCE_DIR}/assets/*)
  set(paths "")
  foreach(f ${files})
    list(APPEND paths ${PROJECT_SOURCE_DIR}/assets/${f})
  endforeach()
  # The tools' pages lie beside their tools and are embedded as tools/<name>.md.
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/findings/tools/*/tool.md)
  foreach(page ${pages})
    get_filename_component(folder ${page} DIRECTORY)
    get_filename_component(tool ${folder} NAME)
    list(APPEND files "tools/${tool}.md=${page}")
    list(APPEND paths ${page})
  endforeach()
  list(JOIN files "\n" lines)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/assets.list CONTENT "${lines}\n")
  set(table ${CMAKE_CURRENT_BINARY_DIR}/assets_table.cc)
  add_custom_command(OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/assets
            -DLIST=${CMAKE_CURRENT_BINARY_DIR}/assets.list -DOUT=${table}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${CMAKE_CURRENT_BINARY_DIR}/assets.list ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${table})
endfunction()
