# What every target of the project links: `peakline_flags` (language, warnings, what wasm leaves
# out) and `peakline_json` (nlohmann's header, found natively, linked into the build tree for wasm).

add_library(peakline_flags INTERFACE)
target_compile_features(peakline_flags INTERFACE cxx_std_20)
target_compile_options(
  peakline_flags INTERFACE -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wswitch
                           $<$<BOOL:${PEAKLINE_DEVELOPER}>:-Werror>
                           # libstdc++ 12's own stable_sort sets clang off; g++ keeps the warning.
                           $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
                           # g++ 12 takes the inactive members of a moved std::variant for uninitialised.
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
if(EMSCRIPTEN)
  # The page loads this: nothing unwinds in core, and nobody asks for a type's name at run time.
  # Copying memory and casting numbers are instructions of every browser since 2021 (Safari 15).
  target_compile_options(peakline_flags INTERFACE -fno-exceptions -fno-rtti -flto -mbulk-memory
                                                  -mnontrapping-fptoint)
  # An estimate of 32 layers, CPU time and compressed size: all -Oz 38 ms, 126 KB; linked with -O2
  # 22 ms, 127 KB; hot sources -Os as well 19 ms, 132 KB; all -O2 16 ms, 192 KB (2026-11-30).
  target_link_options(peakline_flags INTERFACE -flto -O2 -mbulk-memory -mnontrapping-fptoint)
  set(PEAKLINE_HOT_OPTIONS -Os)
else()
  set(PEAKLINE_HOT_OPTIONS $<$<CONFIG:Release>:-O3>)  # 7 % of an estimate against -O2
endif()

add_library(peakline_json INTERFACE)
if(EMSCRIPTEN)
  # The system's include folder must stay invisible to em++, so only this one library is linked in.
  find_path(PEAKLINE_NLOHMANN_DIR nlohmann/json.hpp PATHS /usr/include /usr/local/include
                                                          NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  set(_only "${PROJECT_BINARY_DIR}/only")
  file(MAKE_DIRECTORY "${_only}")
  file(CREATE_LINK "${PEAKLINE_NLOHMANN_DIR}/nlohmann" "${_only}/nlohmann" SYMBOLIC)
  target_include_directories(peakline_json SYSTEM INTERFACE "${_only}")
else()
  find_package(nlohmann_json 3.11 REQUIRED)
  target_link_libraries(peakline_json INTERFACE nlohmann_json::nlohmann_json)
endif()
