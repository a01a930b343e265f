import { nsFromMs } from '@reeve/kit/duration.ts'
import { hostVolumeState, type NodeRow } from '../../model/index.ts'
import { put, type Change, type Stamp } from '../store.ts'
import type { Tables } from '../schema/tables.ts'

/**
 * Adds the state changes of volumes that follow from changes of their nodes: a volume is ready
 * while its node is connected and reports it.
 */
export function withVolumeRows(
  { host_volumes: volumes }: Pick<Tables, 'host_volumes'>,
  changes: readonly Change[],
  { timeMs }: Pick<Stamp, 'timeMs'>,
): Change[] {
  if (volumes.size === 0) return [...changes]
  const states = changes.flatMap((change) => {
    if (change.table !== 'nodes') return []
    const node = change.row
    const id = change.row === undefined ? change.key : change.row.ID
    return volumes.rowsByIndex('node', id).flatMap((row) => {
      const State = hostVolumeState(row, node)
      // Also covers a volume that the node created without being able to report it.
      const HostPath = row.HostPath || (State === 'ready' && pathOn(node, row.Name)) || ''
      if (State === row.State && HostPath === row.HostPath) return []
      return [put('host_volumes', { ...row, State, HostPath, ModifyTime: nsFromMs(timeMs) })]
    })
  })
  return [...changes, ...states]
}

function pathOn(node: NodeRow | undefined, name: string): string | undefined {
  return node?.HostVolumes?.[name]?.Path
}
