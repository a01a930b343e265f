/** Limits of one policy's text and of one token. All of them are caller input. */
import { truncateText } from '@reeve/kit/truncate-text.ts'

/** UTF-16 units of one policy's rules; a hand-written policy has a few hundred. */
export const ACL_RULES_LENGTH_MAX = 512 * 1024

/** Labelled rules and variable paths in one policy. */
export const ACL_RULES_COUNT_MAX = 4_096

/** Policies or roles of one token, and policies of one role. */
export const ACL_LINKS_MAX = 1_000

/** Characters of the caller's input that an error message quotes. */
const QUOTED_CHARS_MAX = 160

/** Names per token whose closest pattern is cached: names come from requests. */
export const LOOKUP_CACHE_SIZE_MAX = 128

/** Longer names match nothing that exists, so they are not cached. */
export const CACHED_NAME_LENGTH_MAX = 300

/** Quotes a caller's text for a message, clipped to the length of a message. */
export function quoteClipped(text: string): string {
  return JSON.stringify(clip(text))
}

/** Clips a text without quoting it. */
export function clip(text: string): string {
  return truncateText(text, QUOTED_CHARS_MAX)
}
