/** Splits a text at commas and spaces. */
export function parseNames(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '')
}
