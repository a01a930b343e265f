import { v2 } from '@reeve/contract'
import {
  toRunApply,
  findPolicyCheck,
  findPublicUser,
  forceCancelAllowedMs,
  isConfirmable,
  isDiscardable,
  isRunCancelable,
  createLogKey,
  queuePosition,
  findTaskStage,
  idSuffixOf,
  usernameOf,
  type GovernanceContext,
  type VisibleRun,
} from '../../../governance/index.ts'
import type { RunRow, StatusTimes } from '../../../model/index.ts'
import { formatOptionalTime, resourcePath, formatTime, toMany, toOne } from './links.ts'
import { userResource } from './users.ts'

export function runResource(
  { store, clock }: GovernanceContext,
  { run, plan, rights }: VisibleRun,
  callerId: string,
): v2.Run {
  const { tables } = store
  const { execution, configurationVersionId } = run
  const isWaiting = run.status === 'pending' && plan.bytes === null && execution === undefined
  const forceCancelAtMs = forceCancelAllowedMs(run)
  const ids = (row: { readonly id: string } | undefined) => (row === undefined ? [] : [row.id])
  return {
    id: run.id,
    type: 'runs',
    attributes: {
      message: run.message,
      status: run.status,
      'status-timestamps': statusTimestamps(run.statusMs),
      source: run.source,
      'trigger-reason': execution?.trigger ?? 'manual',
      'commit-sha': run.commitSha,
      'is-destroy': run.isDestroy,
      refresh: run.refresh,
      'refresh-only': run.refreshOnly,
      'plan-only': run.planOnly,
      'auto-apply': run.autoApply,
      'allow-empty-apply': run.allowEmptyApply,
      'has-changes': run.hasChanges,
      'save-plan': execution?.savePlan ?? false,
      'allow-config-generation': execution?.allowConfigGeneration ?? false,
      'position-in-queue': queuePosition(tables, run),
      'status-reason': execution?.reason ?? null,
      'canceled-at': formatOptionalTime(execution?.canceledMs ?? null),
      'force-cancel-available-at': formatOptionalTime(forceCancelAtMs),
      'target-addrs': run.targetAddresses,
      'replace-addrs': run.replaceAddresses,
      variables: run.variableNames.map((key) => ({ key })),
      'created-at': formatTime(run.createdMs),
      actions: {
        'is-cancelable': isRunCancelable(run),
        'is-confirmable': isConfirmable(run.status),
        'is-discardable': isDiscardable(run.status),
        'is-force-cancelable': forceCancelAtMs !== null && forceCancelAtMs <= clock.nowMs(),
      },
      permissions: runPermissions({ run, rights }, callerId),
    },
    relationships: {
      workspace: toOne('workspaces', run.workspaceId),
      plan: toOne('plans', run.planId),
      apply: execution === undefined ? { data: null } : toOne('applies', execution.applyId),
      'configuration-version':
        configurationVersionId === undefined
          ? { data: null }
          : toOne('configuration-versions', configurationVersionId),
      'created-by': toOne('users', run.createdById),
      'policy-checks': toMany('policy-checks', ids(findPolicyCheck(tables, run.id))),
      'task-stages': toMany('task-stages', ids(findTaskStage(tables, run.id))),
    },
    links: {
      self: resourcePath('runs', run.id),
      ...(isWaiting ? { 'plan-upload': resourcePath('plans', plan.id, 'upload') } : {}),
    },
  }
}

function runPermissions(
  { run, rights }: Pick<VisibleRun, 'run' | 'rights'>,
  callerId: string,
): v2.Run['attributes']['permissions'] {
  return {
    'can-apply': rights.queueApply,
    'can-cancel': rights.queueApply || (rights.queuePlan && run.createdById === callerId),
    'can-discard': rights.queueApply,
    'can-force-cancel': rights.forceUnlock,
    'can-force-execute': rights.forceUnlock,
    'can-override-policy-check': rights.overridePolicies,
    'can-upload-plan': rights.queuePlan && run.execution === undefined,
  }
}

/** Returns the times at which the object entered its states. */
export function statusTimestamps(times: StatusTimes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(times).map(([name, ms]): [string, string] => [name, formatTime(ms)]),
  )
}

/** Dependencies of the URLs of logs of plans and applies. */
export interface LogUrlDeps {
  readonly context: GovernanceContext
  /** Scheme and host as sent by the client. */
  readonly origin: string
}

export function planResource(
  host: LogUrlDeps,
  { plan, run }: Pick<VisibleRun, 'plan' | 'run'>,
): v2.RunPlan {
  const { counts } = plan
  const { execution } = run
  return {
    id: plan.id,
    type: 'plans',
    attributes: {
      status: plan.status,
      'status-timestamps': statusTimestamps(plan.statusMs),
      'has-changes': plan.hasChanges,
      'resource-additions': counts.additions,
      'resource-changes': counts.changes,
      'resource-destructions': counts.destructions,
      'resource-imports': counts.imports,
      'generated-configuration': execution?.generatedConfiguration ?? false,
      'log-read-url': execution === undefined ? null : logUrl(host, run.id, 'plan'),
    },
    relationships: { run: toOne('runs', plan.runId) },
    links: {
      self: resourcePath('plans', plan.id),
      'json-output': resourcePath('plans', plan.id, 'json-output'),
      ...(plan.status === 'pending' && execution === undefined
        ? { upload: resourcePath('plans', plan.id, 'upload') }
        : {}),
    },
  }
}

/** Returns the apply of a run; undefined if another program applies it. */
export function applyResource(
  host: LogUrlDeps,
  { run, plan }: Pick<VisibleRun, 'plan' | 'run'>,
): v2.RunApply | undefined {
  const apply = toRunApply(host.context.store.tables, run)
  if (apply === undefined) return undefined
  const { additions, changes, destructions, imports } =
    apply.status === 'finished' ? plan.counts : NOTHING_APPLIED
  return {
    id: apply.id,
    type: 'applies',
    attributes: {
      status: apply.status,
      'status-timestamps': statusTimestamps(apply.statusMs),
      'resource-additions': additions,
      'resource-changes': changes,
      'resource-destructions': destructions,
      'resource-imports': imports,
      'log-read-url': logUrl(host, run.id, 'apply'),
    },
    relationships: { run: toOne('runs', run.id) },
    links: { self: resourcePath('applies', apply.id) },
  }
}

const NOTHING_APPLIED = { additions: 0, changes: 0, destructions: 0, imports: 0 }

function logUrl({ context, origin }: LogUrlDeps, runId: string, phase: v2.RunPhaseName): string {
  return `${origin}${resourcePath('run-logs', createLogKey(context, { runId, phase }))}`
}

/**
 * Returns the events of a run: its creation, and each status with the time at which it was entered.
 */
export function runEventResources({ run }: Pick<VisibleRun, 'run'>): readonly v2.RunEvent[] {
  const { decision } = run
  const events = Object.entries(run.statusMs).map(([name, ms], at): v2.RunEvent => {
    const action = at === 0 ? 'created' : name.slice(0, -'-at'.length).replaceAll('-', '_')
    const isDecision = decision !== null && decision.atMs === ms && at > 0
    const actorId = at === 0 ? run.createdById : isDecision ? decision.byId : null
    return {
      // Derived from run and position, so the same event always has the same ID without being
      // stored.
      id: `${v2.ID_PREFIXES['run-events']}-${eventSuffix(run.id, at)}`,
      type: 'run-events',
      attributes: {
        action,
        description: isDecision ? decision.comment : null,
        'created-at': formatTime(ms),
      },
      relationships: { actor: { data: actorId === null ? null : { id: actorId, type: 'users' } } },
    }
  })
  return events.toSpliced(1, 0, ...ignoredSetsEvents(run))
}

/** Position of the warning in the derived IDs: after those of all statuses. */
const IGNORED_SETS_POSITION = 500

/** Clients print the description of this event as a warning right after they created the run. */
function ignoredSetsEvents({ id, createdMs, execution }: RunRow): readonly v2.RunEvent[] {
  const names = execution?.ignoredPolicySets ?? []
  if (names.length === 0) return []
  const one = `Policy set ${names[0]} has no policies, so it checks nothing in this run.`
  const many = `Policy sets ${names.join(', ')} have no policies, so they check nothing in this run.`
  return [
    {
      id: `${v2.ID_PREFIXES['run-events']}-${eventSuffix(id, IGNORED_SETS_POSITION)}`,
      type: 'run-events',
      attributes: {
        action: 'ignored_policy_sets',
        description: names.length === 1 ? one : many,
        'created-at': formatTime(createdMs),
      },
      relationships: { actor: { data: null } },
    },
  ]
}

/** Returns the suffix of the run's ID, with its last two characters incremented by the position. */
function eventSuffix(runId: string, position: number): string {
  const suffix = idSuffixOf(runId)
  const digit = (value: number): string => v2.ID_ALPHABET.charAt(value % v2.ID_ALPHABET.length)
  return `${suffix.slice(0, -2)}${digit(Math.floor(position / v2.ID_ALPHABET.length))}${digit(position)}`
}

/**
 * Returns the creator of a run; the site administrator has no user record, and users may have been
 * deleted.
 */
export function creatorResource(context: GovernanceContext, { run }: VisibleRun): v2.User {
  const { createdById: id, createdByName: nameThen } = run
  const username = usernameOf(context, { userId: id, fallbackName: nameThen })
  return userResource(findPublicUser(context, id) ?? { id, username, isServiceAccount: true })
}
