# Writes OUT with the commit of SOURCE.
execute_process(COMMAND git -C ${SOURCE} describe --always --exclude=* --abbrev=10 --dirty=+ OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
set(text "#include \"cli/commit.h\"\nnamespace hearth {\nconst char* commit() { return \"${commit}\"; }\n}  // namespace hearth\n")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUT} "${text}")
endif()
