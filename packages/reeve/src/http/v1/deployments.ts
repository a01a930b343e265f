import { Deployment, v1Routes, type DeploymentUpdateResponse } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
import { allocationStub, checkUuid, refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import {
  DEPLOYMENT_NOT_FOUND,
  failDeployment,
  promoteDeployment,
  setAllocationHealth,
  setPaused,
  unblockDeployment,
  type DeploymentWritten,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json, jsonItems, jsonText } from '../answer.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Written,
} from './endpoint.ts'
import { READ_JOB, scopeOf, scopeOfKey, scopeOfRight, watchTables } from './namespace-scope.ts'
import { requiredBody } from './required-body.ts'
import { anyone, inNamespace, somewhere } from './requirements.ts'
import { listWatched, readRow } from './row-reads.ts'
import { visible, walkIds } from './walks.ts'
import { groupAnswer } from './group-answer.ts'

const DEPLOYMENT_FILTER = { kinds: fieldKindsFromSchema(Deployment) }

export function deploymentEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listDeployments, inNamespace('read-job'), (request) =>
      listDeployments(store, request),
    ),
    read(v1Routes.readDeployment, anyone, (request) => readDeployment(store, request)),
    read(v1Routes.listDeploymentAllocations, anyone, (request) => listPlaced(store, request)),
    read(v1Routes.listJobDeployments, inNamespace('read-job'), ({ namespace, params, query }) =>
      ok(listOfJob(store, namespacedKey(namespace, params.job_id), query.all ?? false)),
    ),
    read(v1Routes.readLatestDeployment, inNamespace('read-job'), ({ namespace, params }) =>
      ok(readLatest(store, namespacedKey(namespace, params.job_id))),
    ),
    ...writeEndpoints(context),
  ]
}

/** Which namespace the deployment is in decides its use case; who may nowhere is refused before. */
function writeEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    write(
      v1Routes.failDeployment,
      somewhere('submit-job', 'fail-deployment'),
      async ({ caller, params }) =>
        updated(await failDeployment(context, caller, params.deployment_id)),
    ),
    write(
      v1Routes.pauseDeployment,
      somewhere('submit-job', 'pause-deployment'),
      async ({ caller, params, ...request }) => {
        const body = requiredBody(request.body)
        if (!body.ok) return body
        const pause = { id: params.deployment_id, body: body.value }
        return updated(await setPaused(context, caller, pause))
      },
    ),
    write(
      v1Routes.promoteDeployment,
      somewhere('submit-job', 'promote-deployment'),
      async ({ caller, params, ...request }) => {
        const body = requiredBody(request.body)
        if (!body.ok) return body
        const promotion = { id: params.deployment_id, body: body.value }
        return updated(await promoteDeployment(context, caller, promotion))
      },
    ),
    write(
      v1Routes.setDeploymentHealth,
      somewhere('submit-job', 'set-alloc-health-deployment'),
      async ({ caller, params, ...request }) => {
        const body = requiredBody(request.body)
        if (!body.ok) return body
        const health = { id: params.deployment_id, body: body.value }
        return updated(await setAllocationHealth(context, caller, health))
      },
    ),
    write(
      v1Routes.unblockDeployment,
      somewhere('submit-job', 'unblock-deployment'),
      async ({ caller, params, ...request }) => {
        const body = requiredBody(request.body)
        if (!body.ok) return body
        const unblock = { id: params.deployment_id, body: body.value }
        return updated(await unblockDeployment(context, caller, unblock))
      },
    ),
  ]
}

function updated(written: Result<DeploymentWritten, Refusal>): Result<Written, Refusal> {
  if (!written.ok) return written
  const { evalId, evalCreateIndex, deploymentModifyIndex, revertedJobVersion, index } =
    written.value
  const body: DeploymentUpdateResponse = {
    EvalID: evalId,
    EvalCreateIndex: evalCreateIndex,
    DeploymentModifyIndex: deploymentModifyIndex,
    RevertedJobVersion: revertedJobVersion,
    Index: index,
  }
  return ok({ index, answer: json(body) })
}

function listDeployments(
  store: Store,
  request: RequestOf<typeof v1Routes.listDeployments>,
): Result<ReadPlan, Refusal> {
  const { caller, namespace, query } = request
  const walk = walkIds(store.tables.deployments, 'deployment', query.prefix)
  if (!walk.ok) return walk
  const isVisible = (row: Deployment): boolean =>
    namespace === '*'
      ? caller.grants.allows(row.Namespace, 'read-job')
      : row.Namespace === namespace
  return ok(
    listWatched(watchTables(store, ['deployments'], scopeOf(request, READ_JOB)), () => ({
      walk: visible(walk.value, isVisible),
      query,
      filter: DEPLOYMENT_FILTER,
      stub: (row) => row,
    })),
  )
}

/** Without permission a deployment reads as not found. */
function readDeployment(
  store: Store,
  { caller, params }: RequestOf<typeof v1Routes.readDeployment>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('deployment', params.deployment_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  return ok(
    readRow(store.tables.deployments, {
      key: id.value,
      missing: DEPLOYMENT_NOT_FOUND,
      missingIndex: () => store.indexIn('deployments', scopeOfRight(caller, READ_JOB)),
      isVisible: (row) => caller.grants.allows(row.Namespace, 'read-job'),
    }),
  )
}

function listPlaced(
  store: Store,
  { caller, params }: RequestOf<typeof v1Routes.listDeploymentAllocations>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('deployment', params.deployment_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const { allocations, deployments } = store.tables
  return ok({
    ...watchTables(store, ['allocations'], scopeOfRight(caller, READ_JOB)),
    answer: (yieldTurn) => {
      const deployment = deployments.find(id.value)
      if (deployment === undefined || !caller.grants.allows(deployment.Namespace, 'read-job'))
        return err(DEPLOYMENT_NOT_FOUND)
      return groupAnswer(
        allocations,
        {
          index: 'deployment',
          group: id.value,
          text: (row) => JSON.stringify(allocationStub(row)),
        },
        yieldTurn,
      )
    },
  })
}

/** Without `all`, only those of the job as it is registered now. */
function listOfJob(store: Store, key: string, all: boolean): ReadPlan {
  const { deployments, jobs } = store.tables
  return {
    ...watchTables(store, ['deployments'], scopeOfKey(key)),
    answer: () => {
      const registeredAt = jobs.createIndexOf(key) ?? 0
      const ids = [...deployments.keysIn('job', key)]
        .filter((id) => all || (deployments.createIndexOf(id) ?? 0) >= registeredAt)
        .toSorted(compareText)
      return ok(jsonItems(ids.map((id) => deployments.bodyOf(id) ?? '')))
    },
  }
}

/** A job without a deployment has `null`. */
function readLatest(store: Store, key: string): ReadPlan {
  const { deployments } = store.tables
  return {
    ...watchTables(store, ['deployments'], scopeOfKey(key)),
    answer: () => {
      let latest: string | undefined
      let latestIndex = -1
      for (const id of deployments.keysIn('job', key)) {
        const index = deployments.createIndexOf(id) ?? 0
        if (index > latestIndex) [latest, latestIndex] = [id, index]
      }
      return ok(jsonText(latest === undefined ? 'null' : (deployments.bodyOf(latest) ?? 'null')))
    },
  }
}
