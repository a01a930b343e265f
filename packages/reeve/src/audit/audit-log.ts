import type { AuditActor, AuditRecord, Route } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Logger } from '@reeve/kit/log.ts'
import type { Caller } from '../acl/index.ts'
import {
  findOrganization,
  findPublicUser,
  findOrganizationById,
  type CallerIdentity,
  type GovernanceContext,
} from '../governance/index.ts'
import {
  auditKey,
  outcomeRecord,
  put,
  type AuditEntry,
  type AuditOutcome,
  type Store,
  type Tables,
} from '../state/index.ts'

/** Delay of rejection records: they are written in one commit, so that rejecting stays cheap. */
const FLUSH_DELAY_MS = 100
/** Maximum number of deferred records. Beyond it they are only counted in the log. */
const DEFERRED_MAX = 1_000

interface AuditLogOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Pick<Logger, 'error'>
}

/**
 * Records requests that commit nothing themselves. The record of a request that changes state is
 * added by the store to the commit of that change (`CommitRequest.by`): neither is durable without
 * the other, and it costs no commit of its own. Rejections change nothing, so they are gathered and
 * written together a little later.
 */
export class AuditLog {
  readonly #options: AuditLogOptions
  /** Deferred records without ids; an id ends with the index of the commit. */
  #deferred: { readonly record: AuditRecord; readonly timeMs: number }[] = []
  #dropped = 0
  #cancelFlush: (() => void) | undefined

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  /** Records a request that was rejected, or that acted on a node and committed nothing. */
  recordDeferred(entry: AuditEntry, outcome: AuditOutcome): void {
    if (this.#deferred.length >= DEFERRED_MAX) {
      this.#dropped++
      return
    }
    const timeMs = this.#options.clock.nowMs()
    this.#deferred.push({ record: outcomeRecord(entry, outcome, timeMs), timeMs })
    this.#cancelFlush ??= this.#options.clock.after(FLUSH_DELAY_MS, () => this.flush())
  }

  /**
   * Records an action on a node before it starts, in a commit of its own, and waits until that is
   * durable: an exec session does not begin without its record.
   */
  async recordNow(entry: AuditEntry, outcome: AuditOutcome): Promise<void> {
    const { store, clock } = this.#options
    const record = outcomeRecord(entry, outcome, clock.nowMs())
    store.commit({
      // The record itself is the change.
      by: 'system',
      cause: undefined,
      changes: ({ timeMs, index }) => [
        put('audit_records', { ...record, ID: auditKey(timeMs, index) }),
      ],
    })
    await store.whenDurable()
  }

  /** Writes the deferred records: before a list, and when the server stops. */
  flush(): void {
    const { store, log } = this.#options
    this.#cancelFlush?.()
    this.#cancelFlush = undefined
    const deferred = this.#deferred
    if (deferred.length === 0) return
    this.#deferred = []
    if (this.#dropped > 0)
      log.error({ dropped: this.#dropped }, 'too many rejected writes: some have no audit record')
    this.#dropped = 0
    try {
      store.commit({
        by: 'system',
        cause: undefined,
        // The id contains the time of the rejection, so the records sort between earlier and later
        // ones.
        changes: ({ index }) =>
          deferred.map(({ record, timeMs }, position) =>
            put('audit_records', { ...record, ID: auditKey(timeMs, index, position) }),
          ),
      })
    } catch (thrown) {
      // The storage failed: nothing can be written, and the log has the reason.
      if (!(thrown instanceof Fault)) throw thrown
      log.error({ err: errorMessage(thrown), records: deferred.length }, 'audit records were lost')
    }
  }
}

const successStatuses = new WeakMap<Route['answers'], number>()

/** Returns the status of a successful request of this route, by the contract. */
export function successStatus({ answers }: Pick<Route, 'answers'>): number {
  const cached = successStatuses.get(answers)
  if (cached !== undefined) return cached
  const status = Number(Object.keys(answers).find((one) => one.startsWith('2')) ?? 200)
  successStatuses.set(answers, status)
  return status
}

const actors = new WeakMap<Caller, AuditActor>()

/** Returns the actor of a write on `/v1`, cached by caller. */
export function workloadActor(caller: Caller): AuditActor {
  const cached = actors.get(caller)
  if (cached !== undefined) return cached
  const { type, accessorId, name } = caller
  const actor: AuditActor = { Type: type, ID: accessorId, Name: name, TokenID: accessorId }
  actors.set(caller, actor)
  return actor
}

/** Returns the actor of a write on `/api/v2`. A management token has the same actor as on `/v1`. */
export function governanceActor(context: GovernanceContext, caller: CallerIdentity): AuditActor {
  if (caller.kind === 'site') {
    const { accessorId } = caller
    const name = context.store.tables.acl_tokens.find(accessorId)?.Name ?? ''
    return { Type: 'management', ID: accessorId, Name: name, TokenID: accessorId }
  }
  return {
    // An audit trail token cannot write; its rejected attempts count as its organization's.
    Type: caller.kind === 'audit-trails' ? 'organization' : caller.kind,
    ID: caller.userId,
    Name: findPublicUser(context, caller.userId)?.username ?? '',
    TokenID: caller.tokenId,
  }
}

/** Table of the object that a path parameter identifies. */
const TABLE_OF_PARAMETER = {
  configuration_version_id: 'configuration_versions',
  notification_configuration_id: 'notification_configurations',
  organization_membership_id: 'organization_memberships',
  policy_id: 'run_policies',
  policy_set_id: 'policy_sets',
  policy_set_parameter_id: 'policy_set_parameters',
  policy_set_version_id: 'policy_set_versions',
  project_id: 'projects',
  reserved_tag_key_id: 'reserved_tag_keys',
  run_trigger_id: 'run_triggers',
  state_version_id: 'state_versions',
  team_id: 'teams',
  team_project_id: 'team_projects',
  team_workspace_id: 'team_workspaces',
  variable_set_id: 'variable_sets',
  workspace_id: 'workspaces',
} as const satisfies Record<string, keyof Tables>

/**
 * Returns the organization whose audit trail records a rejected write: the one in the path, if the
 * caller may see it. Attempts of other callers are visible to site administrators only.
 */
export function organizationOfRequest(
  context: GovernanceContext,
  caller: CallerIdentity,
  params: Readonly<Record<string, string>>,
): string {
  const { organization_name: name } = params
  const membership =
    name === undefined
      ? findOrganizationById(context, caller, organizationOf(context, params) ?? '')
      : findOrganization(context, caller, name)
  return membership.ok ? membership.value.organization.id : ''
}

function organizationOf(
  { store }: GovernanceContext,
  params: Readonly<Record<string, string>>,
): string | undefined {
  for (const [param, table] of Object.entries(TABLE_OF_PARAMETER)) {
    const id = params[param]
    if (id !== undefined) return store.tables[table].find(id)?.organizationId
  }
  return undefined
}

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Parses a time of a query into milliseconds; undefined if it is missing. */
export function parseRfc3339(text: string | undefined): Result<number | undefined, string> {
  if (text === undefined || text === '') return ok(undefined)
  const ms = RFC3339.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(ms) ? err('not a time such as 2026-11-15T09:30:00Z') : ok(ms)
}
