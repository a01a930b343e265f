import { reconnectDeadlineMs } from '../../scheduler/index.ts'
import { jobVersionKey, type Tables } from '../../state/index.ts'

/** IDs of the non-terminal allocations of a node. */
export function nonTerminalOn({ allocations }: Tables, nodeId: string): readonly string[] {
  return [...allocations.keysByIndex('node', nodeId)].filter(
    (id) => allocations.indexKeyOf('live', id) !== undefined,
  )
}

/**
 * Latest time until which an allocation on a disconnected node may reconnect; undefined if none
 * can.
 */
export function latestReconnectDeadlineMs(
  tables: Tables,
  nodeId: string,
  nowMs: number,
): number | undefined {
  let latestMs: number | undefined
  for (const id of nonTerminalOn(tables, nodeId)) {
    const row = tables.allocations.get(id)
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const groups = tables.job_versions.find(key)?.TaskGroups ?? []
    const group = groups.find((one) => one.Name === row.TaskGroup)
    const deadlineMs = group === undefined ? undefined : reconnectDeadlineMs(row, group, nowMs)
    if (deadlineMs !== undefined) latestMs = Math.max(latestMs ?? 0, deadlineMs)
  }
  return latestMs
}
