import { truncateText } from '@reeve/kit/truncate-text.ts'
import { SHOWN_LENGTH_MAX } from './limits.ts'

/** A caller's text in a message: quoted, and not longer than a message should be. */
export function shown(text: string): string {
  return JSON.stringify(clipped(text))
}

/** The same without quotes, for texts that the reference shows bare. */
export function clipped(text: string): string {
  return truncateText(text, SHOWN_LENGTH_MAX)
}
