import type {
  JudgedSetRow,
  PolicyCheckRow,
  PolicyEvaluationRow,
  PolicySetOutcomeRow,
  RunPlanRow,
  RunRow,
  TaskStageRow,
} from '../../model/index.ts'
import { put, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { checkOf, evaluationsOf, stageOf } from './find-run.ts'
import { runRows } from './execution/run-rows.ts'
import type { FrozenSet } from './frozen-sets.ts'
import { checkStatusOf, evaluationStatusOf, resultCountOf, stageStatusOf } from './judged-set.ts'
import { codePins } from './run-end.ts'
import { afterStage, mayGoOn } from './run-progress.ts'
import { movedRun, stamped } from './run-states.ts'

export interface JudgedRun {
  readonly run: RunRow
  readonly plan: RunPlanRow
  readonly sets: readonly FrozenSet[]
  /** One result for each of `sets`. */
  readonly judged: readonly JudgedSetRow[]
  readonly durationMs: number
}

type Host = Pick<GovernanceContext, 'store' | 'ids' | 'clock'>

/** Returns the changes that record the result of a run's policy evaluation. */
export function judgedRows(host: Host, given: JudgedRun): readonly Change[] {
  const { tables } = host.store
  const nowMs = host.clock.nowMs()
  const { run, plan } = given
  const part = (isInStage: boolean): readonly JudgedSetRow[] =>
    given.judged.filter((_set, at) => given.sets[at]?.isInStage === isInStage)
  const stage = stageOf(tables, run.id)
  const staged = part(true)
  const stageStatus = stage === undefined ? undefined : stageStatusOf(staged, mayGoOn(run))
  const check = checkOf(tables, run.id)
  const checked = part(false)
  const checkStatus = check === undefined ? undefined : checkStatusOf(checked)
  const progress = afterStage({ run, stage: stageStatus, check: checkStatus })
  return [
    ...runRows(tables, movedRun(run, progress.path, nowMs), nowMs),
    put('run_plans', { ...plan, frozenSets: null }),
    ...codePins(tables, plan.id),
    ...(stage === undefined || stageStatus === undefined
      ? []
      : [
          put('task_stages', movedStage(stage, stageStatus, nowMs)),
          ...evaluationsOf(tables, stage.id).flatMap((one) =>
            evaluationRows(host, one, { ...given, nowMs }),
          ),
        ]),
    ...(check === undefined || progress.check === undefined
      ? []
      : [
          put(
            'policy_checks',
            judgedCheck(check, { ...given, checked, status: progress.check, nowMs }),
          ),
        ]),
  ]
}

function movedStage(
  stage: TaskStageRow,
  status: TaskStageRow['status'],
  nowMs: number,
): TaskStageRow {
  return { ...stage, status, statusMs: stamped(stage.statusMs, status, nowMs), updatedMs: nowMs }
}

function judgedCheck(
  check: PolicyCheckRow,
  given: {
    readonly checked: readonly JudgedSetRow[]
    readonly status: PolicyCheckRow['status']
    readonly durationMs: number
    readonly nowMs: number
  },
): PolicyCheckRow {
  const { checked: sets, status, durationMs, nowMs } = given
  const statusMs = status === check.status ? check.statusMs : stamped(check.statusMs, status, nowMs)
  return { ...check, status, statusMs, durationMs, sets }
}

/** Returns an evaluation with the outcome of each of its sets. */
function evaluationRows(
  { ids }: Host,
  evaluation: PolicyEvaluationRow,
  { sets, judged, nowMs }: JudgedRun & { readonly nowMs: number },
): readonly Change[] {
  const own = judged.filter((_set, at) => {
    const set = sets[at]
    return set?.isInStage === true && set.kind === evaluation.kind
  })
  const status = evaluationStatusOf(own)
  const { organizationId, workspaceId, runId, id: evaluationId } = evaluation
  const outcomes = own.map((set, position): PolicySetOutcomeRow => ({
    ...set,
    id: newId(ids, 'policy-set-outcomes'),
    policySetId: set.id,
    organizationId,
    workspaceId,
    runId,
    evaluationId,
    position,
  }))
  const moved: PolicyEvaluationRow = {
    ...evaluation,
    status,
    statusMs: stamped(evaluation.statusMs, status, nowMs),
    toolVersion: own.find(({ toolVersion }) => toolVersion !== null)?.toolVersion ?? null,
    counts: resultCountOf(own),
    updatedMs: nowMs,
  }
  return [
    put('policy_evaluations', moved),
    ...outcomes.map((row) => put('policy_set_outcomes', row)),
  ]
}

/** Returns the changes for a run whose policies could not be evaluated. */
export function unaskedRows({ store, clock }: Host, run: RunRow): readonly Change[] {
  const { tables } = store
  const nowMs = clock.nowMs()
  const plan = tables.run_plans.get(run.planId)
  const stage = stageOf(tables, run.id)
  const check = checkOf(tables, run.id)
  return [
    ...runRows(tables, movedRun(run, ['errored'], nowMs), nowMs),
    put('run_plans', { ...plan, frozenSets: null }),
    ...codePins(tables, plan.id),
    ...(check === undefined ? [] : [put('policy_checks', errored(check, nowMs))]),
    ...(stage === undefined ? [] : stageErrored(tables, stage, nowMs)),
  ]
}

function stageErrored(tables: Tables, stage: TaskStageRow, nowMs: number): readonly Change[] {
  return [
    put('task_stages', { ...errored(stage, nowMs), updatedMs: nowMs }),
    ...evaluationsOf(tables, stage.id).map((one) =>
      put('policy_evaluations', { ...errored(one, nowMs), updatedMs: nowMs }),
    ),
  ]
}

function errored<R extends { readonly statusMs: RunRow['statusMs'] }>(row: R, nowMs: number) {
  return { ...row, status: 'errored' as const, statusMs: stamped(row.statusMs, 'errored', nowMs) }
}
