/** What one text may cost: it comes from any caller who may submit a job or a policy. */

/** UTF-16 units of one text. */
export const YAML_LENGTH_MAX = 8 * 1024 * 1024

/** Collections inside one another; keeps the recursive reader off the end of the stack. */
export const YAML_DEPTH_MAX = 200

/** Scalars and collections of one text, those behind aliases counted at every use. */
export const YAML_NODES_MAX = 500_000

/**
 * Tokens of one text; an entry of a collection has about four, with blanks and line ends. The
 * library takes about 3 µs for each, so this bounds a text to some two seconds.
 */
export const YAML_TOKENS_MAX = 600_000

/** Directives, comments and line ends outside of the document. */
export const YAML_TOP_LEVEL_MAX = 10_000

/** Characters of a key without `?`, from the YAML specification, section 7.4. */
export const IMPLICIT_KEY_LENGTH_MAX = 1_024
