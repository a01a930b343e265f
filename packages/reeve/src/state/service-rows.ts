import { compareText } from '@reeve/kit/sorted-list.ts'
import { isClientTerminal } from '../model/index.ts'
import { remove, type Change } from './store.ts'
import type { Tables } from './tables.ts'

/**
 * Adds deletes of the services that belong to ended allocations and removed nodes, in the same
 * commit, so that no request is sent to an ended allocation.
 */
export function withServiceRows(tables: Tables, changes: readonly Change[]): Change[] {
  const table = tables.service_registrations
  if (table.size === 0) return [...changes]
  const keys = new Set<string>()
  const collect = (index: 'allocation' | 'node', group: string): void => {
    for (const key of table.keysByIndex(index, group)) keys.add(key)
  }
  for (const change of changes) {
    if (change.table === 'allocations') {
      if (change.row === undefined) collect('allocation', change.key)
      else if (isClientTerminal(change.row)) collect('allocation', change.row.ID)
    } else if (change.table === 'nodes' && change.row === undefined) collect('node', change.key)
  }
  const removals = [...keys]
    .toSorted(compareText)
    .map((key) => remove('service_registrations', key))
  return [...changes, ...removals]
}
