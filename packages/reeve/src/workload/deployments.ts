import type {
  Deployment,
  DeploymentHealthRequest,
  DeploymentPauseRequest,
  DeploymentPromoteRequest,
  DeploymentUnblockRequest,
  NamespaceCapability,
} from '@reeve/contract'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import type { Caller } from '../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  type AllocationRow,
  applyToCounters,
  checkUuid,
  DEPLOYMENT_DESCRIPTIONS,
  groupsAwaitingPromotion,
  groupStateOf,
  isActiveDeployment,
  pauseDeployment,
  PERMISSION_DENIED,
  promotionProblems,
  refusal,
  type Refusal,
  resumeDeployment,
  unblockDeployment as unblocked,
} from '../model/index.ts'
import {
  namespacedKey,
  withDerivedRows,
  type Author,
  type Cause,
  type Change,
  type DeploymentWrite,
  promotionRows,
  failureRows,
  decideFailure,
  put,
  deploymentEvaluation,
  type Stamp,
} from '../state/index.ts'
import type { RequestCaller, WorkloadContext } from './context.ts'

export const DEPLOYMENT_NOT_FOUND: Refusal = refusal('deployment-not-found', 'deployment not found')

/** Result of a write to a deployment. */
export interface DeploymentWriteResult {
  /** Empty if no evaluation was created. */
  readonly evalId: string
  readonly evalCreateIndex: number
  readonly deploymentModifyIndex: number
  /** The stable version that the job was reverted to. */
  readonly revertedJobVersion: number | null
  readonly index: number
}

/**
 * Finds a deployment by the ID in a path and checks the caller's permission in its namespace. One
 * that the caller may not read is reported as not found.
 */
function findDeployment(
  { store }: WorkloadContext,
  caller: Caller,
  { id, capability }: { readonly id: string; readonly capability: NamespaceCapability },
): Result<Deployment, Refusal> {
  const checked = checkUuid('deployment', id)
  if (!checked.ok) return err(refusal('invalid-input', checked.error))
  const deployment = store.tables.deployments.find(checked.value)
  if (deployment === undefined) return err(DEPLOYMENT_NOT_FOUND)
  const hasCapability = (one: NamespaceCapability): boolean =>
    caller.grants.allows(deployment.Namespace, one)
  if (hasCapability('submit-job') || hasCapability(capability)) return ok(deployment)
  return err(hasCapability('read-job') ? PERMISSION_DENIED : DEPLOYMENT_NOT_FOUND)
}

/** Checks that the deployment in the body is the one in the path. */
function checkBodyDeploymentId(
  body: { readonly DeploymentID?: string | null | undefined },
  { ID }: Deployment,
): Refusal | undefined {
  const bodyId = body.DeploymentID ?? ''
  if (bodyId === '') return refusal('invalid-input', 'DeploymentID must be specified')
  if (bodyId.toLowerCase() === ID) return undefined
  return refusal('invalid-input', 'Deployment ID does not match')
}

/** Returns the refusal for a terminal deployment, which cannot be changed. */
function checkNotTerminal(deployment: Deployment, action: string): Refusal | undefined {
  if (isActiveDeployment(deployment)) return undefined
  return refusal('invalid-input', `can't ${action}`)
}

/** Returns the result of a write that changes nothing. */
async function unchangedDeployment(
  { store }: WorkloadContext,
  { ModifyIndex }: Deployment,
): Promise<DeploymentWriteResult> {
  const index = await store.settledIndex()
  return {
    evalId: '',
    evalCreateIndex: 0,
    deploymentModifyIndex: ModifyIndex,
    revertedJobVersion: null,
    index,
  }
}

interface DeploymentCommit {
  readonly cause: Cause
  readonly deployment: Deployment
  /** Whether to evaluate the job; a purged one has nothing to evaluate. */
  readonly createsEvaluation: boolean
  readonly revertedJobVersion?: number | undefined
  readonly rows: (write: DeploymentWrite) => readonly Change[]
}

/** Commits a change of a deployment with all of its consequences. */
async function commitDeployment(
  { store, ids }: WorkloadContext,
  { by }: Author,
  commit: DeploymentCommit,
): Promise<DeploymentWriteResult> {
  const { Namespace, JobID } = commit.deployment
  const hasJob = store.tables.jobs.has(namespacedKey(Namespace, JobID))
  const evalId = commit.createsEvaluation && hasJob ? ids.uuid() : ''
  const { index, durable } = store.commit({
    by,
    cause: commit.cause,
    changes: (stamp) => withDerivedRows(store.tables, commit.rows({ stamp, ids, evalId })),
  })
  await durable
  return {
    evalId,
    evalCreateIndex: evalId === '' ? 0 : index,
    deploymentModifyIndex: index,
    revertedJobVersion: commit.revertedJobVersion ?? null,
    index,
  }
}

interface PromoteRequest {
  readonly id: string
  readonly body: DeploymentPromoteRequest
}

/**
 * Promotes the canaries of the groups. All or none: if one group has too few healthy canaries the
 * request is rejected.
 */
export async function promoteDeployment(
  context: WorkloadContext,
  caller: RequestCaller,
  { id, body }: PromoteRequest,
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'promote-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const problem =
    checkBodyDeploymentId(body, deployment) ??
    groupSelectionProblem(deployment, body) ??
    checkNotTerminal(deployment, 'promote terminal deployment')
  if (problem !== undefined) return err(problem)
  const { tables } = context.store
  const pendingGroups = groupsAwaitingPromotion(deployment)
  const requested = new Set(body.Groups)
  const groups =
    body.All === true ? pendingGroups : pendingGroups.filter((group) => requested.has(group))
  const unhealthy = promotionProblems(deployment, groups, (key) => tables.allocations.find(key))
  if (unhealthy.length > 0) return err(refusal('invalid-input', formatMultiError(unhealthy)))
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentPromotion',
      deployment,
      createsEvaluation: true,
      rows: (write) => promotionRows(tables, { deployment, groups }, write),
    }),
  )
}

/** Rejects unknown groups, because a misspelled group would otherwise appear to be promoted. */
function groupSelectionProblem(
  deployment: Deployment,
  body: DeploymentPromoteRequest,
): Refusal | undefined {
  if (body.All === true) return undefined
  const groups = body.Groups ?? []
  if (groups.length === 0)
    return refusal('invalid-input', 'must specify at least one task group, or all of them')
  const unknown = groups.find((group) => groupStateOf(deployment, group ?? '') === undefined)
  if (unknown === undefined) return undefined
  return refusal(
    'invalid-input',
    `task group "${unknown}" is not part of deployment "${deployment.ID}"`,
  )
}

/** Fails a deployment manually. The job is reverted if any group has AutoRevert. */
export async function failDeployment(
  context: WorkloadContext,
  caller: RequestCaller,
  id: string,
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'fail-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const terminalProblem = checkNotTerminal(deployment, 'fail terminal deployment')
  if (terminalProblem !== undefined) return err(terminalProblem)
  const { tables } = context.store
  const failure = decideFailure(tables, deployment, {
    description: DEPLOYMENT_DESCRIPTIONS.failedByUser,
    hasAutoRevert: Object.values(deployment.TaskGroups).some((state) => state.AutoRevert),
  })
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentStatusUpdate',
      deployment,
      createsEvaluation: true,
      revertedJobVersion: failure.rollbackTarget?.Version,
      rows: (write) => failureRows(tables, failure, write),
    }),
  )
}

interface PauseRequest {
  readonly id: string
  readonly body: DeploymentPauseRequest
}

/** Pauses a deployment, or resumes it with an immediate evaluation. */
export async function setPaused(
  context: WorkloadContext,
  caller: RequestCaller,
  { id, body }: PauseRequest,
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'pause-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const pauses = body.Pause ?? false
  const problem =
    checkBodyDeploymentId(body, deployment) ??
    checkNotTerminal(deployment, `${pauses ? 'pause' : 'resume'} terminal deployment`)
  if (problem !== undefined) return err(problem)
  if (pauses === (deployment.Status === 'paused'))
    return ok(await unchangedDeployment(context, deployment))
  const { tables } = context.store
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentStatusUpdate',
      deployment,
      createsEvaluation: !pauses,
      rows: (write) => [
        put(
          'deployments',
          (pauses ? pauseDeployment : resumeDeployment)(deployment, write.stamp.timeMs),
        ),
        ...deploymentEvaluation(tables, deployment, write),
      ],
    }),
  )
}

interface UnblockRequest {
  readonly id: string
  readonly body: DeploymentUnblockRequest
}

/** Continues a deployment that waits for other regions. No effect on one that does not wait. */
export async function unblockDeployment(
  context: WorkloadContext,
  caller: RequestCaller,
  { id, body }: UnblockRequest,
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'unblock-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const problem =
    checkBodyDeploymentId(body, deployment) ??
    checkNotTerminal(deployment, 'unblock terminal deployment')
  if (problem !== undefined) return err(problem)
  if (deployment.Status !== 'blocked') return ok(await unchangedDeployment(context, deployment))
  const { tables } = context.store
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentStatusUpdate',
      deployment,
      createsEvaluation: true,
      rows: (write) => [
        put('deployments', unblocked(deployment, write.stamp.timeMs)),
        ...deploymentEvaluation(tables, deployment, write),
      ],
    }),
  )
}

interface HealthRequest {
  readonly id: string
  readonly body: DeploymentHealthRequest
}

/** An allocation with the health that an operator sets. */
interface AllocationHealth {
  readonly row: AllocationRow
  readonly healthy: boolean
}

/**
 * Sets the health of allocations, overriding the reports of their nodes. An unhealthy one fails the
 * deployment.
 */
export async function setAllocationHealth(
  context: WorkloadContext,
  caller: RequestCaller,
  { id, body }: HealthRequest,
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'set-alloc-health-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const problem =
    checkBodyDeploymentId(body, deployment) ??
    missingAllocationsProblem(body) ??
    checkNotTerminal(deployment, 'set health of allocations for a terminal deployment')
  if (problem !== undefined) return err(problem)
  const healths = parseHealth(context, deployment, body)
  if (!healths.ok) return healths
  return ok(await commitHealth(context, caller, deployment, healths.value))
}

function missingAllocationsProblem(body: DeploymentHealthRequest): Refusal | undefined {
  const { HealthyAllocationIDs: healthy, UnhealthyAllocationIDs: unhealthy } = body
  if ((healthy ?? []).length + (unhealthy ?? []).length > 0) return undefined
  return refusal('invalid-input', 'must specify at least one healthy/unhealthy allocation ID')
}

/** Reads the health by allocation: one that is in both lists is unhealthy. */
function parseHealth(
  { store }: WorkloadContext,
  deployment: Deployment,
  body: DeploymentHealthRequest,
): Result<readonly AllocationHealth[], Refusal> {
  const healths = new Map<string, AllocationHealth>()
  for (const [healthy, ids] of [
    [true, body.HealthyAllocationIDs ?? []],
    [false, body.UnhealthyAllocationIDs ?? []],
  ] as const)
    for (const rawId of ids) {
      const id = rawId ?? ''
      const row = store.tables.allocations.find(id.toLowerCase())
      if (row === undefined) return err(refusal('invalid-input', `unknown alloc "${id}"`))
      if (row.DeploymentID !== deployment.ID)
        return err(
          refusal('invalid-input', `alloc "${id}" is not part of deployment "${deployment.ID}"`),
        )
      healths.set(row.ID, { row, healthy })
    }
  return ok([...healths.values()])
}

async function commitHealth(
  context: WorkloadContext,
  caller: RequestCaller,
  deployment: Deployment,
  healths: readonly AllocationHealth[],
): Promise<DeploymentWriteResult> {
  const { tables } = context.store
  const groups = healths.filter(({ healthy }) => !healthy).map(({ row }) => row.TaskGroup)
  const failure = decideFailure(tables, deployment, {
    description: DEPLOYMENT_DESCRIPTIONS.unhealthy,
    hasAutoRevert: groups.some((group) => groupStateOf(deployment, group)?.AutoRevert === true),
  })
  const fails = groups.length > 0
  return await commitDeployment(context, caller, {
    cause: 'DeploymentAllocHealth',
    deployment,
    createsEvaluation: true,
    revertedJobVersion: fails ? failure.rollbackTarget?.Version : undefined,
    rows: (write: DeploymentWrite) => {
      const changes = healths.map((health) => ({
        before: health.row,
        after: withHealth(health, write.stamp),
      }))
      // Update the counters of the deployment first: a failed one is no longer counted.
      const counted = applyToCounters(deployment, changes)
      return [
        ...changes.map(({ after }) => put('allocations', after)),
        ...(fails
          ? failureRows(tables, { ...failure, deployment: counted }, write)
          : deploymentEvaluation(tables, deployment, write)),
      ]
    },
  })
}

function withHealth({ row, healthy }: AllocationHealth, { index, timeMs }: Stamp): AllocationRow {
  return {
    ...row,
    DeploymentStatus: {
      Healthy: healthy,
      Timestamp: isoFromMs(timeMs),
      Canary: row.DeploymentStatus?.Canary ?? false,
      ModifyIndex: index,
    },
    AllocModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}
