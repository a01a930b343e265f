import type { ClientStatus, DesiredStatus } from '@reeve/contract'

/**
 * Reports whether the node has reported an end. `unknown` is not terminal: the node may reconnect.
 */
export function isClientTerminal(row: { readonly ClientStatus: ClientStatus }): boolean {
  return (
    row.ClientStatus === 'complete' || row.ClientStatus === 'failed' || row.ClientStatus === 'lost'
  )
}

export function isServerTerminal(row: { readonly DesiredStatus: DesiredStatus }): boolean {
  return row.DesiredStatus === 'stop' || row.DesiredStatus === 'evict'
}

/** Reports whether the allocation is terminal on server or client. */
export function isTerminal(row: {
  readonly ClientStatus: ClientStatus
  readonly DesiredStatus: DesiredStatus
}): boolean {
  return isServerTerminal(row) || isClientTerminal(row)
}
