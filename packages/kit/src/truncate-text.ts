/** Appended to truncated text. */
export const ELLIPSIS = '…'

/** Truncates text that is longer than `lengthMax` and appends an ellipsis. */
export function truncateText(text: string, lengthMax: number): string {
  return text.length > lengthMax ? text.slice(0, lengthMax) + ELLIPSIS : text
}
