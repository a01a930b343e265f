/** Stands where a text was cut. */
export const CUT_MARK = '…'

/** The beginning of a text that is too long for its place, with a mark that there was more. */
export function cutText(text: string, lengthMax: number): string {
  return text.length > lengthMax ? text.slice(0, lengthMax) + CUT_MARK : text
}
