/** An object in a text, or why there is none. */
export type ReadObject =
  | { readonly ok: true; readonly value: Record<string, unknown> }
  | { readonly ok: false; readonly reason: string }

export function readObject(text: string): ReadObject {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { ok: true, value: { ...value } }
    return { ok: false, reason: 'The input is an object with a job or a plan in it.' }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { ok: false, reason: `The input is not JSON: ${error.message}` }
  }
}
