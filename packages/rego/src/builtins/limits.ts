/** What single builtins may be asked to do, beyond the steps they pay. */

/** Characters of a regular expression or a glob. */
export const PATTERN_LENGTH_MAX = 16_384

/** Instructions of a compiled pattern: a short text can stand for a large program. */
export const PATTERN_INSTRUCTIONS_MAX = 20_000

/** Characters looked at for the price of one step, by a pattern of this many instructions. */
export const PATTERN_INSTRUCTIONS_PER_STEP = 64

/** Compiled patterns that are kept between evaluations. */
export const PATTERNS_KEPT_MAX = 200

/** Certificates in one text. */
export const CERTIFICATES_MAX = 100

/** Tokens inside one another. */
export const TOKEN_DEPTH_MAX = 16

/** References of a schema followed one inside the other. */
export const SCHEMA_DEPTH_MAX = 200

/** Problems told about one document. */
export const SCHEMA_PROBLEMS_MAX = 1000

/** Tokens of one GraphQL text: each becomes a node of some hundred bytes. */
export const GRAPHQL_TOKENS_MAX = 200_000
