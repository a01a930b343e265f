/** Appended to truncated text. */
export const CUT_MARK = '…'

/** Truncates text that is longer than `lengthMax` and appends an ellipsis. */
export function cutText(text: string, lengthMax: number): string {
  return text.length > lengthMax ? text.slice(0, lengthMax) + CUT_MARK : text
}
