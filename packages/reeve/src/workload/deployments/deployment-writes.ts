import type { Deployment, NamespaceCapability } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  checkUuid,
  isActiveDeployment,
  PERMISSION_DENIED,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import {
  namespacedKey,
  withJobRows,
  type Author,
  type Cause,
  type Change,
  type RolloutWrite,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

export const DEPLOYMENT_NOT_FOUND: Refusal = refusal('deployment-not-found', 'deployment not found')

/** What a write to a deployment did. */
export interface DeploymentWritten {
  /** Empty when nothing has to be scheduled. */
  readonly evalId: string
  readonly evalCreateIndex: number
  readonly deploymentModifyIndex: number
  /** The stable version that the job went back to. */
  readonly revertedJobVersion: number | null
  readonly index: number
}

/**
 * The deployment of an id in a path that the caller may act on. Rights are those in its own
 * namespace; who may not even read it is not told that it exists.
 */
export function findDeployment(
  { store }: WorkloadContext,
  caller: Caller,
  { id, capability }: { readonly id: string; readonly capability: NamespaceCapability },
): Result<Deployment, Refusal> {
  const checked = checkUuid('deployment', id)
  if (!checked.ok) return err(refusal('invalid-input', checked.error))
  const deployment = store.tables.deployments.find(checked.value)
  if (deployment === undefined) return err(DEPLOYMENT_NOT_FOUND)
  const may = (one: NamespaceCapability): boolean => caller.grants.allows(deployment.Namespace, one)
  if (may('submit-job') || may(capability)) return ok(deployment)
  return err(may('read-job') ? PERMISSION_DENIED : DEPLOYMENT_NOT_FOUND)
}

/** The body names the deployment of the path, or the call is a mistake. */
export function namesDeployment(
  body: { readonly DeploymentID?: string | null | undefined },
  { ID }: Deployment,
): Refusal | undefined {
  const named = body.DeploymentID ?? ''
  if (named === '') return refusal('invalid-input', 'DeploymentID must be specified')
  if (named.toLowerCase() === ID) return undefined
  return refusal('invalid-input', 'Deployment ID does not match')
}

/** One that has ended takes no change. */
export function endedProblem(deployment: Deployment, what: string): Refusal | undefined {
  if (isActiveDeployment(deployment)) return undefined
  return refusal('invalid-input', `can't ${what}`)
}

/** What was asked for is so already: nothing is written. */
export async function unchanged(
  { store }: WorkloadContext,
  { ModifyIndex }: Deployment,
): Promise<DeploymentWritten> {
  // Read the index before awaiting; later commits may not be durable yet.
  const { index } = store
  await store.settled()
  return {
    evalId: '',
    evalCreateIndex: 0,
    deploymentModifyIndex: ModifyIndex,
    revertedJobVersion: null,
    index,
  }
}

export interface DeploymentCommit {
  readonly cause: Cause
  readonly deployment: Deployment
  /** Whether the job is evaluated; one that was purged has nothing to evaluate. */
  readonly evaluates: boolean
  readonly revertedJobVersion?: number | undefined
  readonly rows: (write: RolloutWrite) => readonly Change[]
}

/** One commit: the deployment and everything that follows from the change. */
export async function commitDeployment(
  { store, ids }: WorkloadContext,
  { by }: Author,
  commit: DeploymentCommit,
): Promise<DeploymentWritten> {
  const { Namespace, JobID } = commit.deployment
  const hasJob = store.tables.jobs.has(namespacedKey(Namespace, JobID))
  const evalId = commit.evaluates && hasJob ? ids.uuid() : ''
  const { index, durable } = store.commit({
    by,
    cause: commit.cause,
    changes: (stamp) => withJobRows(store.tables, commit.rows({ stamp, ids, evalId })),
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
