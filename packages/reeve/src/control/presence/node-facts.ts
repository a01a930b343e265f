import { mayReturnUntilMs } from '../../scheduler/index.ts'
import { jobVersionKey, type Tables } from '../../state/index.ts'

/** The allocations of a node that neither side has ended. */
export function liveOn({ allocations }: Tables, nodeId: string): readonly string[] {
  return [...allocations.keysIn('node', nodeId)].filter(
    (id) => allocations.groupOf('live', id) !== undefined,
  )
}

/**
 * Until when something on a silent node may come back; undefined when nothing can. Asked when a
 * node's time has run out, of its live allocations alone.
 */
export function returnUntilMs(tables: Tables, nodeId: string, nowMs: number): number | undefined {
  let latestMs: number | undefined
  for (const id of liveOn(tables, nodeId)) {
    const row = tables.allocations.get(id)
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const groups = tables.job_versions.find(key)?.TaskGroups ?? []
    const group = groups.find((one) => one.Name === row.TaskGroup)
    const untilMs = group === undefined ? undefined : mayReturnUntilMs(row, group, nowMs)
    if (untilMs !== undefined) latestMs = Math.max(latestMs ?? 0, untilMs)
  }
  return latestMs
}
