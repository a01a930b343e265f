import type { v2 } from '@reeve/contract'
import {
  policyCheckResult,
  listEvaluations,
  isCheckOverridable,
  isStageOverridable,
  toPolicySetVerdict,
  usernameOf,
  type GovernanceContext,
  type VisibleCheck,
  type VisibleStage,
} from '../../../governance/index.ts'
import type {
  PolicySetResultRow,
  OverrideRecord,
  PolicyEvaluationRow,
  PolicySetOutcomeRow,
} from '../../../model/index.ts'
import { resourcePath, relatedLink, formatTime, toMany, toOne } from './links.ts'
import { statusTimestamps } from './run.ts'

/** Returns a policy check. Its result is null before the check is evaluated. */
export function policyCheckResource(
  context: GovernanceContext,
  visible: VisibleCheck,
): v2.PolicyCheck {
  const { check, rights } = visible
  const sets = resultSets(visible)
  return {
    id: check.id,
    type: 'policy-checks',
    attributes: {
      result: sets === undefined ? null : policyCheckResult(sets, check.durationMs),
      scope: 'organization',
      status: check.status,
      'status-timestamps': statusTimestamps(check.statusMs),
      actions: { 'is-overridable': isCheckOverridable(visible) },
      permissions: { 'can-override': rights.overridePolicies },
      override: overrideResource(context, check.override),
    },
    relationships: { run: toOne('runs', check.runId) },
    links: {
      self: resourcePath('policy-checks', check.id),
      output: resourcePath('policy-checks', check.id, 'output'),
    },
  }
}

const PENDING_STATUSES: ReadonlySet<string> = new Set(['pending', 'unreachable', 'canceled'])

/** Returns the results by policy set, once the check is decided. */
function resultSets({ check }: VisibleCheck): readonly PolicySetResultRow[] | undefined {
  return check.sets === null || PENDING_STATUSES.has(check.status) ? undefined : check.sets
}

function overrideResource(
  context: GovernanceContext,
  record: OverrideRecord | null,
): v2.OverrideRecord | null {
  if (record === null) return null
  return {
    'user-id': record.byId,
    username: usernameOf(context, { userId: record.byId, fallbackName: record.byName }),
    'overridden-at': formatTime(record.atMs),
    comment: record.comment,
  }
}

/** Returns the log of a check: each policy with its result, the reason, and its output. */
export function policyCheckLog(visible: VisibleCheck): string | undefined {
  const sets = resultSets(visible)
  if (sets === undefined) return undefined
  const lines = sets.flatMap((set) => [
    `Policy set ${set.name}${set.overridable ? ' (overridable)' : ''}`,
    ...set.outcomes.flatMap(outcomeLines),
    ...set.warnings.map((warning) => `  warning: ${warning}`),
  ])
  return lines.length === 0 ? undefined : `${lines.join('\n')}\n\n${summaryLine(sets)}\n`
}

/** Returns a line with the number of evaluated policies and their results. */
function summaryLine(sets: readonly PolicySetResultRow[]): string {
  const outcomes = sets.flatMap((set) => set.outcomes)
  const evaluated = outcomes.filter(({ skipped }) => skipped === undefined)
  const count = (status: v2.PolicyOutcome['status']): number =>
    evaluated.filter((outcome) => outcome.status === status).length
  const parts = [
    `${count('passed')} passed`,
    `${count('failed')} failed`,
    `${count('errored')} errored`,
    `${outcomes.length - evaluated.length} skipped`,
  ]
  const noun = evaluated.length === 1 ? 'policy' : 'policies'
  return `${evaluated.length} ${noun} evaluated: ${parts.join(', ')}`
}

function outcomeLines(outcome: v2.PolicyOutcome): readonly string[] {
  const { skipped } = outcome
  const state = skipped === undefined ? outcome.status.toUpperCase() : 'SKIPPED'
  const suffix = skipped === undefined ? '' : `: ${skipped}`
  return [
    `  ${state}  ${outcome.policy_name} (${outcome.enforcement_level})${suffix}`,
    ...outcome.findings.map((finding) => `    ${findingLine(finding)}`),
    ...outcome.output.flatMap((item) => outputLines(item)),
  ]
}

function findingLine({ rule, file, line, column, message }: v2.PolicyFinding): string {
  const prefix = file === undefined ? '' : `${file}:`
  const location = line === null ? '' : `${prefix}${line}:${column ?? 1} `
  return `${location}${rule === null ? '' : `rule ${rule}: `}${message}`
}

function outputLines(item: unknown): readonly string[] {
  const text: unknown =
    typeof item === 'object' && item !== null ? Reflect.get(item, 'print') : undefined
  if (typeof text !== 'string') return []
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `    | ${line}`)
}

export function taskStageResource(context: GovernanceContext, visible: VisibleStage): v2.TaskStage {
  const { stage, rights } = visible
  const evaluations = listEvaluations(context.store.tables, stage.id)
  return {
    id: stage.id,
    type: 'task-stages',
    attributes: {
      stage: 'post_plan',
      status: stage.status,
      'status-timestamps': statusTimestamps(stage.statusMs),
      'created-at': formatTime(stage.createdMs),
      'updated-at': formatTime(stage.updatedMs),
      actions: { 'is-overridable': isStageOverridable(visible) },
      permissions: { 'can-override-policy': rights.overridePolicies },
      override: overrideResource(context, stage.override),
    },
    relationships: {
      run: toOne('runs', stage.runId),
      'policy-evaluations': toMany(
        'policy-evaluations',
        evaluations.map(({ id }) => id),
      ),
    },
    links: { self: resourcePath('task-stages', stage.id) },
  }
}

export function policyEvaluationResource(row: PolicyEvaluationRow): v2.PolicyEvaluation {
  return {
    id: row.id,
    type: 'policy-evaluations',
    attributes: {
      status: row.status,
      'status-timestamps': statusTimestamps(row.statusMs),
      'policy-kind': row.kind,
      'policy-tool-version': row.toolVersion,
      'result-count': row.counts,
      'created-at': formatTime(row.createdMs),
      'updated-at': formatTime(row.updatedMs),
    },
    relationships: {
      'policy-attachable': toOne('task-stages', row.stageId),
      'policy-set-outcomes': relatedLink('policy-evaluations', row.id, 'policy-set-outcomes'),
    },
    links: { self: resourcePath('policy-evaluations', row.id) },
  }
}

export function policySetOutcomeResource(row: PolicySetOutcomeRow): v2.PolicySetOutcome {
  return {
    id: row.id,
    type: 'policy-set-outcomes',
    attributes: toPolicySetVerdict(row),
    relationships: { 'policy-evaluation': toOne('policy-evaluations', row.evaluationId) },
    links: { self: resourcePath('policy-set-outcomes', row.id) },
  }
}
