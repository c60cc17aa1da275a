/* pet rewrites ONNX models with proved rules: the C interface of the library.
 *
 *     pet_result* result = NULL;
 *     pet_option options[] = {{"min-gain", "1.1"}, {"output", "faster.onnx"}};
 *     pet_status status = pet_apply("model.onnx", NULL, options, 2, &result);
 *     puts(status == PET_OK ? pet_result_report(result) : pet_result_message(result));
 *     pet_result_free(result);
 *
 * It does what the command pet-apply does, by the same code: it rewrites the model, checks the result by execution, and
 * writes it. A failure writes nothing.
 *
 * Options are those of the command line, by their names without the dashes (docs/command-line.md): {"all", NULL} is
 * --all, {"only", "conv/x"} is --only conv/x. An option that takes several values may come several times. --types,
 * --explain, --help and --version are of the command alone, and so are --quiet and --verbose, since the library prints
 * nothing.
 *
 * The rules, the timings and the default pack are in share/pet beside the library's folder, or where the environment
 * variable PET_SHARE says (docs/install.md).
 *
 * Threads: calls may run at the same time, unless they write the same file. A result may be read by several threads.
 * Strings are UTF-8, belong to the result, and stay valid until it is freed.
 */
#ifndef PET_PET_H
#define PET_PET_H

#include <stddef.h>

#if defined(PET_BUILDS_LIBRARY)
#define PET_API __attribute__((visibility("default")))
#else
#define PET_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended: the exit codes of pet-apply. */
typedef enum pet_status {
  PET_OK = 0,
  PET_INTERNAL = 1,  /* a bug, please report it; or out of memory */
  PET_USAGE = 2,     /* a wrong option; an output that cannot be written; the share folder or the checker is missing */
  PET_BAD_MODEL = 3, /* unreadable, not ONNX, inconsistent; or the rewritten model is too large for ONNX */
  PET_BAD_PACK = 4,  /* pack or timings: unreadable, damaged */
  PET_CHECK_FAILED = 5, /* a check failed, or a rule is not proved */
  PET_RUNNER_FAILED = 6 /* with "measure": the runner of the engine failed */
} pet_status;

typedef struct pet_option {
  const char* name;
  const char* value; /* NULL or "" for an option that takes none */
} pet_option;

/* What a call did, or why it failed. */
typedef struct pet_result pet_result;

/* Rewrites the model in a file and writes the result: to the file that the option "output" names, else beside the
 * model, model.onnx to model.pet.onnx. `pack`: a pack of rules; NULL or "" for the default pack. `*result` is set in
 * any case, to be freed, but for PET_INTERNAL where there is no memory for it: then it is NULL. */
PET_API pet_status
pet_apply(const char* model, const char* pack, const pet_option* options, size_t option_count, pet_result** result);

/* The same from memory to memory: `model` holds the bytes of an ONNX file without external data, at most 2 GB, as the
 * result has. The option "output" is refused. */
PET_API pet_status pet_apply_bytes(const void* model,
                                   size_t size,
                                   const char* pack,
                                   const pet_option* options,
                                   size_t option_count,
                                   pet_result** result);

/* One line: where, what, and what to do; "" after PET_OK. */
PET_API const char* pet_result_message(const pet_result* result);
/* The report as JSON (docs/command-line.md, The report); "" unless PET_OK. */
PET_API const char* pet_result_report(const pet_result* result);
/* The file that was written; "" unless by pet_apply() with PET_OK, and with the option "dry-run". */
PET_API const char* pet_result_output(const pet_result* result);
/* The rewritten model of pet_apply_bytes(), with "dry-run" the original's bytes; else NULL. */
PET_API const void* pet_result_model(const pet_result* result, size_t* size);
/* NULL is fine. */
PET_API void pet_result_free(pet_result* result);

/* The library's version, "0.1". */
PET_API const char* pet_version(void);

#ifdef __cplusplus
}
#endif

#endif /* PET_PET_H */
