import type {
  PolicyCheckRow,
  PolicyEvaluationRow,
  RunRow,
  TaskStageRow,
} from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { evaluationsOf, stageOf } from './find-run.ts'
import type { FrozenSet } from './frozen-sets.ts'
import { stamped } from './run-states.ts'

type Host = Pick<GovernanceContext, 'ids' | 'clock' | 'store'>

/**
 * Returns the stage of a run before its plan. Clients list the stages once, right after they have
 * created the run, so a stage that is created later would never be shown.
 */
export function expectedStage(
  host: Host,
  run: RunRow,
  sets: readonly FrozenSet[],
): readonly Change[] {
  const staged = sets.filter(({ isInStage }) => isInStage)
  return staged.length === 0 ? [] : newStage(host, run, { sets: staged, status: 'pending' })
}

/** Returns the rows that callers can poll while the policies are evaluated. */
export function waitingRows(
  host: Host,
  run: RunRow,
  sets: readonly FrozenSet[],
): readonly Change[] {
  const staged = sets.filter(({ isInStage }) => isInStage)
  const expected = stageOf(host.store.tables, run.id)
  const stage =
    expected === undefined
      ? staged.length === 0
        ? []
        : newStage(host, run, { sets: staged, status: 'running' })
      : begunStage(host, expected, staged)
  return staged.length < sets.length ? [...stage, put('policy_checks', newCheck(host, run))] : stage
}

function newCheck({ ids, clock }: Host, run: RunRow): PolicyCheckRow {
  return {
    ...ownerOf(run),
    id: newId(ids, 'policy-checks'),
    status: 'pending',
    statusMs: { 'pending-at': clock.nowMs() },
    durationMs: 0,
    sets: null,
    override: null,
  }
}

interface NewStage {
  readonly sets: readonly FrozenSet[]
  readonly status: 'pending' | 'running'
}

function newStage(host: Host, run: RunRow, { sets, status }: NewStage): readonly Change[] {
  const nowMs = host.clock.nowMs()
  const stage: TaskStageRow = {
    ...ownerOf(run),
    id: newId(host.ids, 'task-stages'),
    status,
    statusMs: stamped({}, status, nowMs),
    createdMs: nowMs,
    updatedMs: nowMs,
    override: null,
  }
  return [
    put('task_stages', stage),
    ...kindsOf(sets).map((kind) =>
      put('policy_evaluations', newEvaluation(host, stage, { kind, status, nowMs })),
    ),
  ]
}

/** The stage was created with the run; policies may have changed since. */
function begunStage(
  host: Host,
  stage: TaskStageRow,
  sets: readonly FrozenSet[],
): readonly Change[] {
  const nowMs = host.clock.nowMs()
  const kinds = kindsOf(sets)
  const known = evaluationsOf(host.store.tables, stage.id)
  // Without policies there is no evaluation that would end the stage.
  const status = kinds.length === 0 ? 'passed' : 'running'
  const added = kinds.filter((kind) => known.every((one) => one.kind !== kind))
  return [
    put('task_stages', {
      ...stage,
      status,
      statusMs: stamped(stage.statusMs, status, nowMs),
      updatedMs: nowMs,
    }),
    ...known.map((one) => {
      const next = kinds.includes(one.kind) ? 'running' : 'unreachable'
      const statusMs = stamped(one.statusMs, next, nowMs)
      return put('policy_evaluations', { ...one, status: next, statusMs, updatedMs: nowMs })
    }),
    ...added.map((kind) =>
      put('policy_evaluations', newEvaluation(host, stage, { kind, status: 'running', nowMs })),
    ),
  ]
}

function kindsOf(sets: readonly FrozenSet[]): readonly FrozenSet['kind'][] {
  return [...new Set(sets.map(({ kind }) => kind))]
}

function ownerOf({ organizationId, workspaceId, id: runId }: RunRow) {
  return { organizationId, workspaceId, runId }
}

interface NewEvaluation {
  readonly kind: FrozenSet['kind']
  readonly status: 'pending' | 'running'
  readonly nowMs: number
}

function newEvaluation(
  { ids }: Host,
  { organizationId, workspaceId, runId, id: stageId }: TaskStageRow,
  { kind, status, nowMs }: NewEvaluation,
): PolicyEvaluationRow {
  return {
    organizationId,
    workspaceId,
    runId,
    id: newId(ids, 'policy-evaluations'),
    stageId,
    kind,
    toolVersion: null,
    status,
    statusMs: stamped({}, status, nowMs),
    counts: { 'advisory-failed': 0, 'mandatory-failed': 0, passed: 0, errored: 0 },
    createdMs: nowMs,
    updatedMs: nowMs,
  }
}
