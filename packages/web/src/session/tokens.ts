/**
 * The tokens of the session, in the session storage of the tab: deleted when it is closed, and never
 * sent automatically. The two APIs may need different ones.
 */
export interface Tokens {
  readonly workload: string | undefined
  readonly governance: string | undefined
}

const KEY = 'reeve.tokens'
const NONE: Tokens = { workload: undefined, governance: undefined }

export function readTokens(): Tokens {
  const text = sessionStorage.getItem(KEY)
  if (text === null) return NONE
  try {
    const value: unknown = JSON.parse(text)
    return { workload: textAt(value, 'workload'), governance: textAt(value, 'governance') }
  } catch (error) {
    if (error instanceof SyntaxError) return NONE
    throw error
  }
}

export function writeTokens(tokens: Tokens): void {
  if (tokens.workload === undefined && tokens.governance === undefined)
    sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, JSON.stringify(tokens))
}

function textAt(value: unknown, name: string): string | undefined {
  const text: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : ''
  return typeof text === 'string' && text !== '' ? text : undefined
}
