import type { AgentHealth } from '@reeve/contract'
import { CLOCK_SKEW_MS_MAX, HEALTHY } from '@reeve/sdk'

/** Health of the server, and the clock skew to the browser. */
export interface ServerReport {
  readonly health: AgentHealth
  /** Undefined if unknown. */
  readonly skewMs: number | undefined
}

export interface ServerNotice {
  readonly tone: 'bad' | 'warn'
  readonly title: string
  readonly text: string
}

/** Returns the most important notice about the server; undefined if it is healthy. */
export function serverNotice({ health, skewMs = 0 }: ServerReport): ServerNotice | undefined {
  const { ok: isWritable, message } = health.server ?? { ok: true, message: HEALTHY }
  if (!isWritable) return { tone: 'bad', title: 'The server rejects changes.', text: message }
  if (message !== HEALTHY)
    return { tone: 'warn', title: 'The server is short of memory.', text: message }
  if (skewMs <= CLOCK_SKEW_MS_MAX) return undefined
  return {
    tone: 'warn',
    title: `The clocks of this browser and of the server are ${Math.round(skewMs / 1_000)} s apart.`,
    text: 'Synchronize both with a time server: ages and expiries are computed from their clocks.',
  }
}
