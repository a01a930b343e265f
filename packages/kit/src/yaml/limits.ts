/** Limits of one YAML text. Any caller who may submit a job or a policy can send one. */

/** UTF-16 units of one text. */
export const YAML_LENGTH_MAX = 8 * 1024 * 1024

/** Maximum nesting of collections; prevents a stack overflow in the recursive reader. */
export const YAML_DEPTH_MAX = 200

/** Maximum number of scalars and collections; those behind aliases count at every use. */
export const YAML_NODES_MAX = 500_000

/**
 * Maximum number of tokens; an entry of a collection has about four, including whitespace and line
 * breaks. The library takes about 3 µs per token, so this limits a text to about two seconds.
 */
export const YAML_TOKENS_MAX = 600_000

/** Maximum number of directives, comments and line breaks outside of the document. */
export const YAML_TOP_LEVEL_MAX = 10_000

/** Maximum length of a key without `?` (YAML specification, section 7.4). */
export const IMPLICIT_KEY_LENGTH_MAX = 1_024
