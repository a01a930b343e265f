import type { Deployment, DeploymentHealthRequest } from '@reeve/contract'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  applyToCounters,
  DEPLOYMENT_DESCRIPTIONS,
  groupStateOf,
  refusal,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import {
  failureRows,
  decideFailure,
  put,
  deploymentEvaluation,
  type DeploymentWrite,
  type Stamp,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  commitDeployment,
  checkNotTerminal,
  findDeployment,
  checkBodyDeploymentId,
  type DeploymentWriteResult,
} from './deployment-writes.ts'

export interface HealthRequest {
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
