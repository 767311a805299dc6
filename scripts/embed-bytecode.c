/* SPDX-License-Identifier: Apache-2.0 */
/* embed-bytecode: a build tool. Compiles the guest's script with the same QuickJS that will run it and writes the bytecode as
 * a C header. Reading bytecode takes the engine a third of a millisecond where parsing the text takes five; the format does not
 * depend on the word size, so one header serves the native and the WebAssembly engine. No debug information is kept: none of
 * the script's own places may appear in a program's stack traces.
 *
 * usage: embed-bytecode NAME INPUT OUTPUT */
#include <quickjs.h>
#include <stdio.h>
#include <stdlib.h>

static char *file_read(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	long len;

	if (!file || fseek(file, 0, SEEK_END) || (len = ftell(file)) < 0)
		return NULL;
	rewind(file);
	text = malloc((size_t)len + 1);
	if (!text || fread(text, 1, (size_t)len, file) != (size_t)len)
		return NULL;
	text[len] = 0;
	fclose(file);
	*ret_len = (size_t)len;
	return text;
}

static int header_write(const char *path, const char *name, const uint8_t *bytes, size_t len)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -1;
	fprintf(file, "/* Made by scripts/embed-bytecode from the guest's script; do not edit. */\n"
		      "static const unsigned char pl_%s_bytecode[] = {", name);
	for (size_t i = 0; i < len; i++)
		fprintf(file, "%s0x%02x", i % 16 ? ", " : i ? ",\n\t" : "\n\t", bytes[i]);
	fprintf(file, "\n};\nstatic const unsigned long pl_%s_bytecode_len = %zu;\n", name, len);
	return fclose(file);
}

static int error_print(JSContext *ctx)
{
	JSValue error = JS_GetException(ctx);
	const char *text = JS_ToCString(ctx, error);

	fprintf(stderr, "embed-bytecode: %s\n", text ? text : "the script cannot be compiled");
	return 1;
}

int main(int argc, char **argv)
{
	JSRuntime *rt = JS_NewRuntime();
	JSContext *ctx = rt ? JS_NewContext(rt) : NULL;
	size_t len, bytecode_len;
	uint8_t *bytecode;
	JSValue compiled;
	char *text;

	if (argc != 4 || !ctx || !(text = file_read(argv[2], &len))) {
		fprintf(stderr, "usage: embed-bytecode NAME INPUT OUTPUT (INPUT must be readable)\n");
		return 2;
	}
	JS_SetStripInfo(rt, JS_STRIP_DEBUG);
	compiled = JS_Eval(ctx, text, len, argv[1], JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
	if (JS_IsException(compiled))
		return error_print(ctx);
	bytecode = JS_WriteObject(ctx, &bytecode_len, compiled, JS_WRITE_OBJ_BYTECODE);
	if (!bytecode || header_write(argv[3], argv[1], bytecode, bytecode_len)) {
		fprintf(stderr, "embed-bytecode: %s cannot be written\n", argv[3]);
		return 1;
	}
	return 0;
}
