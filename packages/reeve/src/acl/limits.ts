/** What the text of one policy and one token's rights may cost. All of it comes from callers. */

/** UTF-16 units of one policy's rules; a hand-written policy has a few hundred. */
export const ACL_RULES_LENGTH_MAX = 512 * 1024

/** Labelled rules and variable paths in one policy. */
export const ACL_RULES_COUNT_MAX = 4_096

/** Policies or roles that one token names, and policies that one role names. */
export const ACL_LINKS_MAX = 1_000

/** Characters of a caller's text that a message repeats. */
export const SHOWN_LENGTH_MAX = 160

/** Names whose closest pattern is remembered, for each token: names come from requests. */
export const LOOKUP_CACHE_SIZE_MAX = 128

/** Longer names belong to nothing that exists; they are looked up each time. */
export const CACHED_NAME_LENGTH_MAX = 300
