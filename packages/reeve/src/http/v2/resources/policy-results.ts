import type { v2 } from '@reeve/contract'
import {
  checkResultOf,
  evaluationsOf,
  isCheckOverridable,
  isStageOverridable,
  shownSet,
  usernameOf,
  type GovernanceContext,
  type SeenCheck,
  type SeenStage,
} from '../../../governance/index.ts'
import type {
  JudgedSetRow,
  OverrideRecord,
  PolicyEvaluationRow,
  PolicySetOutcomeRow,
} from '../../../model/index.ts'
import { pathOf, related, timeText, toMany, toOne } from './links.ts'
import { timesOf } from './run.ts'

/** Returns a policy check. Its result is null before the check is evaluated. */
export function policyCheckResource(context: GovernanceContext, seen: SeenCheck): v2.PolicyCheck {
  const { check, rights } = seen
  const sets = shownSetsOf(seen)
  return {
    id: check.id,
    type: 'policy-checks',
    attributes: {
      result: sets === undefined ? null : checkResultOf(sets, check.durationMs),
      scope: 'organization',
      status: check.status,
      'status-timestamps': timesOf(check.statusMs),
      actions: { 'is-overridable': isCheckOverridable(seen) },
      permissions: { 'can-override': rights.overridePolicies },
      override: overrideOf(context, check.override),
    },
    relationships: { run: toOne('runs', check.runId) },
    links: {
      self: pathOf('policy-checks', check.id),
      output: pathOf('policy-checks', check.id, 'output'),
    },
  }
}

const UNDECIDED: ReadonlySet<string> = new Set(['pending', 'unreachable', 'canceled'])

/** Returns the results by policy set, once the check is decided. */
function shownSetsOf({ check }: SeenCheck): readonly JudgedSetRow[] | undefined {
  return check.sets === null || UNDECIDED.has(check.status) ? undefined : check.sets
}

function overrideOf(
  context: GovernanceContext,
  record: OverrideRecord | null,
): v2.OverrideRecord | null {
  if (record === null) return null
  return {
    'user-id': record.byId,
    username: usernameOf(context, { userId: record.byId, nameThen: record.byName }),
    'overridden-at': timeText(record.atMs),
    comment: record.comment,
  }
}

/** Returns the log of a check: each policy with its result, the reason, and its output. */
export function checkLog(seen: SeenCheck): string | undefined {
  const sets = shownSetsOf(seen)
  if (sets === undefined) return undefined
  const lines = sets.flatMap((set) => [
    `Policy set ${set.name}${set.overridable ? ' (overridable)' : ''}`,
    ...set.outcomes.flatMap(outcomeLines),
    ...set.warnings.map((warning) => `  warning: ${warning}`),
  ])
  return lines.length === 0 ? undefined : `${lines.join('\n')}\n\n${summaryLine(sets)}\n`
}

/** Returns a line with the number of evaluated policies and their results. */
function summaryLine(sets: readonly JudgedSetRow[]): string {
  const outcomes = sets.flatMap((set) => set.outcomes)
  const asked = outcomes.filter(({ skipped }) => skipped === undefined)
  const count = (status: v2.PolicyOutcome['status']): number =>
    asked.filter((outcome) => outcome.status === status).length
  const parts = [
    `${count('passed')} passed`,
    `${count('failed')} failed`,
    `${count('errored')} errored`,
    `${outcomes.length - asked.length} skipped`,
  ]
  const noun = asked.length === 1 ? 'policy' : 'policies'
  return `${asked.length} ${noun} evaluated: ${parts.join(', ')}`
}

function outcomeLines(outcome: v2.PolicyOutcome): readonly string[] {
  const { skipped } = outcome
  const state = skipped === undefined ? outcome.status.toUpperCase() : 'SKIPPED'
  const why = skipped === undefined ? '' : `: ${skipped}`
  return [
    `  ${state}  ${outcome.policy_name} (${outcome.enforcement_level})${why}`,
    ...outcome.findings.map((finding) => `    ${findingLine(finding)}`),
    ...outcome.output.flatMap((item) => printedLines(item)),
  ]
}

function findingLine({ rule, file, line, column, message }: v2.PolicyFinding): string {
  const prefix = file === undefined ? '' : `${file}:`
  const place = line === null ? '' : `${prefix}${line}:${column ?? 1} `
  return `${place}${rule === null ? '' : `rule ${rule}: `}${message}`
}

function printedLines(item: unknown): readonly string[] {
  const text: unknown =
    typeof item === 'object' && item !== null ? Reflect.get(item, 'print') : undefined
  if (typeof text !== 'string') return []
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `    | ${line}`)
}

export function taskStageResource(context: GovernanceContext, seen: SeenStage): v2.TaskStage {
  const { stage, rights } = seen
  const evaluations = evaluationsOf(context.store.tables, stage.id)
  return {
    id: stage.id,
    type: 'task-stages',
    attributes: {
      stage: 'post_plan',
      status: stage.status,
      'status-timestamps': timesOf(stage.statusMs),
      'created-at': timeText(stage.createdMs),
      'updated-at': timeText(stage.updatedMs),
      actions: { 'is-overridable': isStageOverridable(seen) },
      permissions: { 'can-override-policy': rights.overridePolicies },
      override: overrideOf(context, stage.override),
    },
    relationships: {
      run: toOne('runs', stage.runId),
      'policy-evaluations': toMany(
        'policy-evaluations',
        evaluations.map(({ id }) => id),
      ),
    },
    links: { self: pathOf('task-stages', stage.id) },
  }
}

export function policyEvaluationResource(row: PolicyEvaluationRow): v2.PolicyEvaluation {
  return {
    id: row.id,
    type: 'policy-evaluations',
    attributes: {
      status: row.status,
      'status-timestamps': timesOf(row.statusMs),
      'policy-kind': row.kind,
      'policy-tool-version': row.toolVersion,
      'result-count': row.counts,
      'created-at': timeText(row.createdMs),
      'updated-at': timeText(row.updatedMs),
    },
    relationships: {
      'policy-attachable': toOne('task-stages', row.stageId),
      'policy-set-outcomes': related('policy-evaluations', row.id, 'policy-set-outcomes'),
    },
    links: { self: pathOf('policy-evaluations', row.id) },
  }
}

export function policySetOutcomeResource(row: PolicySetOutcomeRow): v2.PolicySetOutcome {
  return {
    id: row.id,
    type: 'policy-set-outcomes',
    attributes: shownSet(row),
    relationships: { 'policy-evaluation': toOne('policy-evaluations', row.evaluationId) },
    links: { self: pathOf('policy-set-outcomes', row.id) },
  }
}
