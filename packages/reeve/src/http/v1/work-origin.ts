import type { WorkOrigin } from '../../workload/index.ts'

interface FairRequest {
  readonly tenant: string
  readonly yieldTurn: () => Promise<void>
}

/** Who is charged for the work of a request, and how it shares the event loop. */
export function originOf({ tenant, yieldTurn }: FairRequest): WorkOrigin {
  return { tenant, nextTurn: yieldTurn }
}
