/** A parsed JSON object, or why the text is invalid. */
export type ParsedObject =
  | { readonly ok: true; readonly value: Record<string, unknown> }
  | { readonly ok: false; readonly reason: string }

export function parseObject(text: string): ParsedObject {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { ok: true, value: { ...value } }
    return { ok: false, reason: 'The input must be an object with a job or a plan.' }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { ok: false, reason: `The input is not JSON: ${error.message}` }
  }
}
