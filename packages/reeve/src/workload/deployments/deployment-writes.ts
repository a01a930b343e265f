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
  withDerivedRows,
  type Author,
  type Cause,
  type Change,
  type DeploymentWrite,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

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
export function findDeployment(
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
export function checkBodyDeploymentId(
  body: { readonly DeploymentID?: string | null | undefined },
  { ID }: Deployment,
): Refusal | undefined {
  const bodyId = body.DeploymentID ?? ''
  if (bodyId === '') return refusal('invalid-input', 'DeploymentID must be specified')
  if (bodyId.toLowerCase() === ID) return undefined
  return refusal('invalid-input', 'Deployment ID does not match')
}

/** Returns the refusal for a terminal deployment, which cannot be changed. */
export function checkNotTerminal(deployment: Deployment, action: string): Refusal | undefined {
  if (isActiveDeployment(deployment)) return undefined
  return refusal('invalid-input', `can't ${action}`)
}

/** Returns the result of a write that changes nothing. */
export async function unchangedDeployment(
  { store }: WorkloadContext,
  { ModifyIndex }: Deployment,
): Promise<DeploymentWriteResult> {
  // Read the index before awaiting; later commits may not be durable yet.
  const { index } = store
  await store.whenDurable()
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
  /** Whether to evaluate the job; a purged one has nothing to evaluate. */
  readonly createsEvaluation: boolean
  readonly revertedJobVersion?: number | undefined
  readonly rows: (write: DeploymentWrite) => readonly Change[]
}

/** Commits a change of a deployment with all of its consequences. */
export async function commitDeployment(
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
