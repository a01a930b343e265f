import { Deployment, v1Routes, type DeploymentUpdateResponse } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import { allocationStub, checkUuid, refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import {
  DEPLOYMENT_NOT_FOUND,
  failDeployment,
  promoteDeployment,
  setAllocationHealth,
  setPaused,
  unblockDeployment,
  type DeploymentWriteResult,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json, jsonItems, jsonText } from '../response.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
} from './endpoint.ts'
import {
  READ_JOB,
  requestScope,
  keyScope,
  permittedScope,
  watchTables,
  filterVisible,
  groupResponse,
  listWatched,
  readRow,
  scanByIdPrefix,
} from './reads.ts'
import { requireBody } from './errors.ts'
import { allowAll, inNamespace, inAnyNamespace } from './access.ts'

const DEPLOYMENT_FILTER = { rowType: fieldTypeFromSchema(Deployment) }

export function deploymentEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listDeployments, inNamespace('read-job'), (request) =>
      listDeployments(store, request),
    ),
    read(v1Routes.readDeployment, allowAll, (request) => readDeployment(store, request)),
    read(v1Routes.listDeploymentAllocations, allowAll, (request) =>
      listDeploymentAllocations(store, request),
    ),
    read(v1Routes.listJobDeployments, inNamespace('read-job'), ({ namespace, params, query }) =>
      ok(listJobDeployments(store, namespacedKey(namespace, params.job_id), query.all ?? false)),
    ),
    read(v1Routes.readLatestDeployment, inNamespace('read-job'), ({ namespace, params }) =>
      ok(readLatest(store, namespacedKey(namespace, params.job_id))),
    ),
    ...writeEndpoints(context),
  ]
}

/** Write routes check the permission in any namespace; the use case checks the deployment's own. */
function writeEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    write(
      v1Routes.failDeployment,
      inAnyNamespace('submit-job', 'fail-deployment'),
      async ({ caller, params }) =>
        updateResponse(await failDeployment(context, caller, params.deployment_id)),
    ),
    write(
      v1Routes.pauseDeployment,
      inAnyNamespace('submit-job', 'pause-deployment'),
      async ({ caller, params, ...request }) => {
        const body = requireBody(request.body)
        if (!body.ok) return body
        const pause = { id: params.deployment_id, body: body.value }
        return updateResponse(await setPaused(context, caller, pause))
      },
    ),
    write(
      v1Routes.promoteDeployment,
      inAnyNamespace('submit-job', 'promote-deployment'),
      async ({ caller, params, ...request }) => {
        const body = requireBody(request.body)
        if (!body.ok) return body
        const promotion = { id: params.deployment_id, body: body.value }
        return updateResponse(await promoteDeployment(context, caller, promotion))
      },
    ),
    write(
      v1Routes.setDeploymentHealth,
      inAnyNamespace('submit-job', 'set-alloc-health-deployment'),
      async ({ caller, params, ...request }) => {
        const body = requireBody(request.body)
        if (!body.ok) return body
        const health = { id: params.deployment_id, body: body.value }
        return updateResponse(await setAllocationHealth(context, caller, health))
      },
    ),
    write(
      v1Routes.unblockDeployment,
      inAnyNamespace('submit-job', 'unblock-deployment'),
      async ({ caller, params, ...request }) => {
        const body = requireBody(request.body)
        if (!body.ok) return body
        const unblock = { id: params.deployment_id, body: body.value }
        return updateResponse(await unblockDeployment(context, caller, unblock))
      },
    ),
  ]
}

function updateResponse(
  written: Result<DeploymentWriteResult, Refusal>,
): Result<WriteResult, Refusal> {
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
  return ok({ index, response: json(body) })
}

function listDeployments(
  store: Store,
  request: V1Request<typeof v1Routes.listDeployments>,
): Result<WatchedRead, Refusal> {
  const { caller, namespace, query } = request
  const walk = scanByIdPrefix(store.tables.deployments, 'deployment', query.prefix)
  if (!walk.ok) return walk
  const isVisible = (row: Deployment): boolean =>
    namespace === '*'
      ? caller.grants.allows(row.Namespace, 'read-job')
      : row.Namespace === namespace
  return ok(
    listWatched(watchTables(store, ['deployments'], requestScope(request, READ_JOB)), () => ({
      scan: filterVisible(walk.value, isVisible),
      query,
      filter: DEPLOYMENT_FILTER,
      stub: (row) => row,
    })),
  )
}

/** A deployment that the caller may not read is reported as not found. */
function readDeployment(
  store: Store,
  { caller, params }: V1Request<typeof v1Routes.readDeployment>,
): Result<WatchedRead, Refusal> {
  const id = checkUuid('deployment', params.deployment_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  return ok(
    readRow(store.tables.deployments, {
      key: id.value,
      notFound: DEPLOYMENT_NOT_FOUND,
      missingIndex: () => store.indexIn('deployments', permittedScope(caller, READ_JOB)),
      isVisible: (row) => caller.grants.allows(row.Namespace, 'read-job'),
    }),
  )
}

function listDeploymentAllocations(
  store: Store,
  { caller, params }: V1Request<typeof v1Routes.listDeploymentAllocations>,
): Result<WatchedRead, Refusal> {
  const id = checkUuid('deployment', params.deployment_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const { allocations, deployments } = store.tables
  return ok({
    ...watchTables(store, ['allocations'], permittedScope(caller, READ_JOB)),
    respond: (yieldTurn) => {
      const deployment = deployments.find(id.value)
      if (deployment === undefined || !caller.grants.allows(deployment.Namespace, 'read-job'))
        return err(DEPLOYMENT_NOT_FOUND)
      return groupResponse(
        allocations,
        {
          index: 'deployment',
          group: id.value,
          renderJson: (row) => JSON.stringify(allocationStub(row)),
        },
        yieldTurn,
      )
    },
  })
}

/** Lists a job's deployments; without `all`, only those since its registration. */
function listJobDeployments(store: Store, key: string, all: boolean): WatchedRead {
  const { deployments, jobs } = store.tables
  return {
    ...watchTables(store, ['deployments'], keyScope(key)),
    respond: () => {
      const registeredAt = jobs.createIndexOf(key) ?? 0
      const ids = [...deployments.keysByIndex('job', key)]
        .filter((id) => all || (deployments.createIndexOf(id) ?? 0) >= registeredAt)
        .toSorted(compareText)
      return ok(jsonItems(ids.map((id) => deployments.rowJsonOf(id) ?? '')))
    },
  }
}

/** Reads the latest deployment; `null` if the job has none. */
function readLatest(store: Store, key: string): WatchedRead {
  const { deployments } = store.tables
  return {
    ...watchTables(store, ['deployments'], keyScope(key)),
    respond: () => {
      let latest: string | undefined
      let latestIndex = -1
      for (const id of deployments.keysByIndex('job', key)) {
        const index = deployments.createIndexOf(id) ?? 0
        if (index > latestIndex) [latest, latestIndex] = [id, index]
      }
      return ok(jsonText(latest === undefined ? 'null' : (deployments.rowJsonOf(latest) ?? 'null')))
    },
  }
}
