import type { WorkOrigin } from '../../workload/index.ts'

interface FairRequest {
  readonly tenant: string
  readonly yieldTurn: () => Promise<void>
  readonly signal: () => AbortSignal
}

/** The tenant of a request, how its work shares the event loop, and when it is dropped. */
export function originOf({ tenant, yieldTurn, signal }: FairRequest): WorkOrigin {
  return { tenant, nextTurn: yieldTurn, signal: signal() }
}
