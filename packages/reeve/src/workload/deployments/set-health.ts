import type { Deployment, DeploymentHealthRequest } from '@reeve/contract'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  countAllocations,
  DEPLOYMENT_TEXTS,
  groupStateOf,
  refusal,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import {
  failureRows,
  planFailure,
  put,
  rolloutEvaluation,
  type RolloutWrite,
  type Stamp,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  commitDeployment,
  endedProblem,
  findDeployment,
  namesDeployment,
  type DeploymentWritten,
} from './deployment-writes.ts'

export interface HealthRequest {
  readonly id: string
  readonly body: DeploymentHealthRequest
}

/** An allocation with the health that an operator sets. */
interface Word {
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
): Promise<Result<DeploymentWritten, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'set-alloc-health-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const problem =
    namesDeployment(body, deployment) ??
    emptyProblem(body) ??
    endedProblem(deployment, 'set health of allocations for a terminal deployment')
  if (problem !== undefined) return err(problem)
  const words = readWords(context, deployment, body)
  if (!words.ok) return words
  return ok(await commitWords(context, caller, deployment, words.value))
}

function emptyProblem(body: DeploymentHealthRequest): Refusal | undefined {
  const { HealthyAllocationIDs: healthy, UnhealthyAllocationIDs: unhealthy } = body
  if ((healthy ?? []).length + (unhealthy ?? []).length > 0) return undefined
  return refusal('invalid-input', 'must specify at least one healthy/unhealthy allocation ID')
}

/** Reads the health by allocation: one that is in both lists is unhealthy. */
function readWords(
  { store }: WorkloadContext,
  deployment: Deployment,
  body: DeploymentHealthRequest,
): Result<readonly Word[], Refusal> {
  const words = new Map<string, Word>()
  for (const [healthy, ids] of [
    [true, body.HealthyAllocationIDs ?? []],
    [false, body.UnhealthyAllocationIDs ?? []],
  ] as const)
    for (const text of ids) {
      const id = text ?? ''
      const row = store.tables.allocations.find(id.toLowerCase())
      if (row === undefined) return err(refusal('invalid-input', `unknown alloc "${id}"`))
      if (row.DeploymentID !== deployment.ID)
        return err(
          refusal('invalid-input', `alloc "${id}" is not part of deployment "${deployment.ID}"`),
        )
      words.set(row.ID, { row, healthy })
    }
  return ok([...words.values()])
}

async function commitWords(
  context: WorkloadContext,
  caller: RequestCaller,
  deployment: Deployment,
  words: readonly Word[],
): Promise<DeploymentWritten> {
  const { tables } = context.store
  const groups = words.filter(({ healthy }) => !healthy).map(({ row }) => row.TaskGroup)
  const failure = planFailure(tables, deployment, {
    text: DEPLOYMENT_TEXTS.unhealthy,
    reverts: groups.some((group) => groupStateOf(deployment, group)?.AutoRevert === true),
  })
  const fails = groups.length > 0
  return await commitDeployment(context, caller, {
    cause: 'DeploymentAllocHealth',
    deployment,
    evaluates: true,
    revertedJobVersion: fails ? failure.target?.Version : undefined,
    rows: (write: RolloutWrite) => {
      const changes = words.map((word) => ({
        before: word.row,
        after: judgedRow(word, write.stamp),
      }))
      // Update the counters of the deployment first: a failed one is no longer counted.
      const counted = countAllocations(deployment, changes)
      return [
        ...changes.map(({ after }) => put('allocations', after)),
        ...(fails
          ? failureRows(tables, { ...failure, deployment: counted }, write)
          : rolloutEvaluation(tables, deployment, write)),
      ]
    },
  })
}

function judgedRow({ row, healthy }: Word, { index, timeMs }: Stamp): AllocationRow {
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
