/** Limits of single builtins, in addition to the steps that they charge. */

/** Characters of a regular expression or a glob. */
export const PATTERN_LENGTH_MAX = 16_384

/** Instructions of a compiled pattern: a short source can compile to a large program. */
export const PATTERN_INSTRUCTIONS_MAX = 20_000

/** Characters that a pattern of this many instructions may scan per step. */
export const PATTERN_INSTRUCTIONS_PER_STEP = 64

/** Compiled patterns that are cached across evaluations. */
export const PATTERNS_KEPT_MAX = 200

/** Certificates in one text. */
export const CERTIFICATES_MAX = 100

/** Nesting of tokens. */
export const TOKEN_DEPTH_MAX = 16

/** Nesting of schema references. */
export const SCHEMA_DEPTH_MAX = 200

/** Problems reported for one document. */
export const SCHEMA_PROBLEMS_MAX = 1000

/** Tokens of one GraphQL document: each becomes a node of a few hundred bytes. */
export const GRAPHQL_TOKENS_MAX = 200_000
