import type { IdSource } from '@reeve/kit/clock.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { newEvaluation, withNodeEvent, type NodeRow } from '../../model/index.ts'
import { namespacedKey, put, type Change, type Stamp, type Tables } from '../../state/index.ts'
import type { DrainDecision, MigrateMark } from './decide-drain.ts'

/** Changes of one commit: the marked allocations and one evaluation per job. */
export function migrateMarkChanges(
  tables: Tables,
  marks: readonly MigrateMark[],
  { stamp, ids }: { readonly stamp: Stamp; readonly ids: IdSource },
): Change[] {
  const jobs = new Map(
    marks.map(({ row }) => [namespacedKey(row.Namespace, row.JobID), row] as const),
  )
  const evaluations = [...jobs]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([key, { NodeID }]) => {
      const job = tables.jobs.find(key)
      if (job === undefined) return []
      const evaluation = newEvaluation(job, {
        id: ids.uuid(),
        trigger: 'node-drain',
        timeMs: stamp.timeMs,
        jobModifyIndex: job.JobModifyIndex,
      })
      return [put('evaluations', { ...evaluation, NodeID, NodeModifyIndex: 0 })]
    })
  return [...marks.map((mark) => put('allocations', withMigrate(mark, stamp))), ...evaluations]
}

function withMigrate({ row, disablePlacement }: MigrateMark, { index, timeMs }: Stamp) {
  return {
    ...row,
    DesiredTransition: {
      ...row.DesiredTransition,
      Migrate: true,
      ...(disablePlacement ? { MigrateDisablePlacement: true } : {}),
    },
    AllocModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}

/** Completes the drain of a node, which stays ineligible until an operator changes that. */
export function drainedNode(
  { node, deadlineReached }: DrainDecision['completed'][number],
  stamp: Stamp,
): NodeRow {
  const details = deadlineReached ? { details: { deadline_reached: 'true' } } : {}
  const event = { subsystem: 'Drain', message: 'Node drain complete', ...details } as const
  return {
    ...node,
    Drain: false,
    DrainStrategy: null,
    LastDrain:
      node.LastDrain === null
        ? null
        : { ...node.LastDrain, Status: 'complete', UpdatedAt: isoFromMs(stamp.timeMs) },
    Events: withNodeEvent(node.Events, event, stamp),
  }
}
