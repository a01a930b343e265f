import type { ClientStatus, DesiredStatus } from '@reeve/contract'

/** `unknown` is not an end: the node may come back. */
export function isClientTerminal(row: { readonly ClientStatus: ClientStatus }): boolean {
  return (
    row.ClientStatus === 'complete' || row.ClientStatus === 'failed' || row.ClientStatus === 'lost'
  )
}

export function isServerTerminal(row: { readonly DesiredStatus: DesiredStatus }): boolean {
  return row.DesiredStatus === 'stop' || row.DesiredStatus === 'evict'
}

/** Ended by either side: nothing of it will run again. */
export function isTerminal(row: {
  readonly ClientStatus: ClientStatus
  readonly DesiredStatus: DesiredStatus
}): boolean {
  return isServerTerminal(row) || isClientTerminal(row)
}
