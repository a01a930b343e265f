import type { AgentHealth } from '@reeve/contract'

/** What an agent that is not well says of its parts; undefined for any other text. */
export function readHealth(text: string): AgentHealth | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return isHealth(parsed) ? parsed : undefined
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return undefined
  }
}

function isHealth(value: unknown): value is AgentHealth {
  if (typeof value !== 'object' || value === null) return false
  const parts: unknown[] = Object.values(value)
  return parts.length > 0 && parts.every(isPart)
}

function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false
  return 'ok' in part && 'message' in part && typeof part.message === 'string'
}
