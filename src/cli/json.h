/* SPDX-License-Identifier: Apache-2.0 */
/* json: results, evidence and errors as JSON objects. The guest's output is bytes: as text it is given with U+FFFD for what
 * is not UTF-8, and exactly in base64. */
#ifndef PL_CLI_JSON_H
#define PL_CLI_JSON_H

#include "plimsoll/plimsoll.h"

#include <jansson.h>
#include <stdbool.h>

/* Each returns a new reference, or NULL for want of memory. */

/* The answer to the three questions, after a run and after none. exit_status: what this program will exit with. */
json_t *json_result_status(const struct plimsoll_result *result, int exit_status, bool with_facts);
json_t *json_error_status(const struct plimsoll_error *error, int exit_status);
/* Adds stdout and stderr. 0 or -1. */
int json_output_add(json_t *object, const struct plimsoll_result *result);
json_t *json_evidence(const struct plimsoll_evidence *evidence, bool with_facts);
json_t *json_error(const struct plimsoll_error *error);
json_t *json_doctor(const struct plimsoll_doctor *doctor);

/* Writes object and a newline to fd and drops the reference; NULL is -ENOMEM. 0 or -errno. */
int json_write(int fd, json_t *object);

#endif
