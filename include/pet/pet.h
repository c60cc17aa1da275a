/* pet rewrites ONNX models with proved rules, and runs them: the C interface of the library.
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
 *
 * Memory: where it runs out, a call fails with PET_INTERNAL, "out of memory". While a call runs, pet keeps some back:
 * its std::new_handler stands in front of the program's, and gives that back first.
 */
#ifndef PET_PET_H
#define PET_PET_H

#include <stddef.h>
#include <stdint.h>

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

/* --- Sessions: models run on our own engine ---
 *
 *     pet_session* session = NULL;
 *     pet_values* values = NULL;
 *     int64_t extents[] = {1, 3, 224, 224};
 *     pet_tensor x = {"input", PET_FLOAT, extents, 4, pixels, sizeof pixels};
 *     if (pet_session_open("model.onnx", NULL, 0, &session) == PET_OK && pet_session_run(session, &x, 1, &values) ==
 * PET_OK) use((const float*)pet_values_at(values, 0).data); pet_values_free(values); pet_session_free(session);
 *
 * What the engine computes in float32 (regions of the graph) it computes; every other node runs by itself, with
 * integers, truth values and what depends on values. Extents that a model leaves open are planned for as they come, and
 * the plans of the last ones kept.
 *
 * Threads: several sessions may run at the same time; calls of pet_session_run on one session take turns. Memory: the
 * model's file is mapped; each plan keeps its weights in the form that the engine wants, about the model's size, and a
 * block for its intermediate values (pet_session_arena_bytes). A library that is built without oneDNN runs models in
 * the reference, which is slow. */

/* Element types, by ONNX's numbers. There are more: a tensor has any that ONNX has a number for. */
enum {
  PET_FLOAT = 1,
  PET_UINT8 = 2,
  PET_INT8 = 3,
  PET_UINT16 = 4,
  PET_INT16 = 5,
  PET_INT32 = 6,
  PET_INT64 = 7,
  PET_BOOL = 9,
  PET_FLOAT16 = 10,
  PET_DOUBLE = 11,
  PET_UINT32 = 12,
  PET_UINT64 = 13,
  PET_BFLOAT16 = 16
};

/* A tensor: row-major, little-endian; a truth value is one byte, 0 or 1. */
typedef struct pet_tensor {
  const char* name;
  int type;               /* ONNX's number */
  const int64_t* extents; /* -1: the model leaves it open */
  size_t rank;
  const void* data; /* NULL where it is only declared */
  size_t size;      /* of data, in bytes */
} pet_tensor;

typedef struct pet_session pet_session;
typedef struct pet_values pet_values;

/* Reads a model and makes it ready. Options: {"threads", "1"}, of the engine; {"plans", "4"}, for how many extents of
 * its inputs a session keeps what it prepared; {"winograd", "1"}, 0 for convolutions without Winograd's algorithm,
 * whose errors are larger. `*session` is set in any case, to be freed, but for PET_INTERNAL where there is no memory
 * for it: then it is NULL. PET_BAD_MODEL: among others, an operator that neither the engine nor the reference computes,
 * with its node. */
PET_API pet_status pet_session_open(const char* model,
                                    const pet_option* options,
                                    size_t option_count,
                                    pet_session** session);
/* The same of the bytes of an ONNX file without external data. */
PET_API pet_status pet_session_open_bytes(
    const void* model, size_t size, const pet_option* options, size_t option_count, pet_session** session);
/* One line: where, what, and what to do; "" after PET_OK. */
PET_API const char* pet_session_message(const pet_session* session);
/* The model's inputs and outputs, as it declares them; what they point to lives as long as the session. */
PET_API size_t pet_session_input_count(const pet_session* session);
PET_API pet_tensor pet_session_input(const pet_session* session, size_t i);
PET_API size_t pet_session_output_count(const pet_session* session);
PET_API pet_tensor pet_session_output(const pet_session* session, size_t i);
/* Bytes of the intermediate values of all plans that the session keeps. */
PET_API int64_t pet_session_arena_bytes(const pet_session* session);

/* Runs a session that was opened with PET_OK, on one tensor for each input, in any order. PET_USAGE: an input is
 * missing, unknown, or of another type or other extents. `*values` is set as a session is. */
PET_API pet_status pet_session_run(pet_session* session,
                                   const pet_tensor* inputs,
                                   size_t input_count,
                                   pet_values** values);
PET_API const char* pet_values_message(const pet_values* values);
/* The outputs in the order of pet_session_output; none unless PET_OK. They live as long as `values`, and may outlive
 * the session. */
PET_API size_t pet_values_count(const pet_values* values);
PET_API pet_tensor pet_values_at(const pet_values* values, size_t i);
/* NULL is fine. */
PET_API void pet_values_free(pet_values* values);
PET_API void pet_session_free(pet_session* session);

/* The library's version, "0.1". */
PET_API const char* pet_version(void);

#ifdef __cplusplus
}
#endif

#endif /* PET_PET_H */
