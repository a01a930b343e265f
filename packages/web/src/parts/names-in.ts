/** The names in a text with commas or spaces between them. */
export function namesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '')
}
