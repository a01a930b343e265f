import { truncateText } from '@reeve/kit/truncate-text.ts'
import { QUOTED_CHARS_MAX } from './limits.ts'

/** Quotes a caller's text for a message, clipped to the length of a message. */
export function quoteClipped(text: string): string {
  return JSON.stringify(clip(text))
}

/** Clips a text without quoting it. */
export function clip(text: string): string {
  return truncateText(text, QUOTED_CHARS_MAX)
}
