/* rewrite_c MODEL OUTPUT: rewrites a model with the rules that pay, and prints the report. */

#include <pet/pet.h>
#include <stdio.h>

int main(int argc, char** argv) {
  pet_result* result = NULL;
  pet_option options[] = {{"output", argc == 3 ? argv[2] : ""}, {"min-gain", "1.1"}};
  pet_status status;
  if (argc != 3) {
    fprintf(stderr, "usage: rewrite_c MODEL OUTPUT\n");
    return PET_USAGE;
  }
  status = pet_apply(argv[1], NULL, options, 2, &result);
  if (!result) return PET_INTERNAL;
  if (status == PET_OK) {
    printf("%s was written\n%s", pet_result_output(result), pet_result_report(result));
  } else {
    fprintf(stderr, "%s\n", pet_result_message(result));
  }
  pet_result_free(result);
  return status;
}
