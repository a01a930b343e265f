import { ServiceRegistration, v1Routes } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import { checkUuid, refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey, type NamespaceScope, type Store } from '../../state/index.ts'
import {
  rendezvousSelect,
  deleteService,
  listServiceNames,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, json, type HttpResponse } from '../response.ts'
import { collectRows, sliceOptions } from '../list-page.ts'
import { read, write, type Endpoint, type WatchedRead, type V1Request } from './endpoint.ts'
import {
  filterVisible,
  listResponse,
  NAMESPACED_KEY_CODEC,
  namespaceScope,
  permittedScope,
  READ_JOB,
  requestScope,
  type RowScan,
  scanByKey,
  scanIndexByKey,
  watchTables,
} from './reads.ts'
import { allowAll, inNamespace } from './access.ts'

const REGISTRATION_FILTER = { rowType: fieldTypeFromSchema(ServiceRegistration) }
const readJob = inNamespace('read-job')

export function serviceEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listServices, readJob, (request) => ok(listServices(store, request))),
    read(v1Routes.readService, readJob, (request) => readService(store, request)),
    write(
      v1Routes.deleteServiceRegistration,
      inNamespace('submit-job', 'delete-service-registration'),
      async ({ caller, namespace, params }) => {
        const { service_name: name, registration_id: id } = params
        const deleted = await deleteService(context, caller, { namespace, name, id })
        return deleted.ok ? ok({ index: deleted.value.index, response: EMPTY_RESPONSE }) : deleted
      },
    ),
    read(v1Routes.listJobServices, readJob, (request) => ok(listJobServices(store, request))),
    read(v1Routes.listAllocationServices, allowAll, (request) =>
      listAllocationServices(store, request),
    ),
  ]
}

/** Plans a read of services: every list has the index of all registrations in its namespaces. */
function servicesPlan(
  store: Store,
  scope: NamespaceScope,
  answer: WatchedRead['respond'],
): WatchedRead {
  return { ...watchTables(store, ['service_registrations'], scope), respond: answer }
}

function listServices(store: Store, request: V1Request<typeof v1Routes.listServices>): WatchedRead {
  const { caller, namespace } = request
  return servicesPlan(store, requestScope(request, READ_JOB), async (yieldTurn) => {
    const all = namespace === '*' ? [...store.tables.namespaces.keys()] : [namespace]
    const namespaces = all.filter((name) => caller.grants.allows(name, 'read-job'))
    return ok(
      json(await listServiceNames(store.tables, { namespaces, yieldToEventLoop: yieldTurn })),
    )
  })
}

function readService(
  store: Store,
  request: V1Request<typeof v1Routes.readService>,
): Result<WatchedRead, Refusal> {
  const { query } = request
  const walk = scanInstances(store, request)
  const scope = requestScope(request, READ_JOB)
  if (query.choose === undefined)
    return ok(
      servicesPlan(store, scope, (yieldTurn) =>
        listResponse(
          { scan: walk, query, filter: REGISTRATION_FILTER, stub: (row) => row },
          yieldTurn,
        ),
      ),
    )
  const choose = rendezvousSelect(query.choose)
  if (!choose.ok) return choose
  return ok(
    servicesPlan(store, scope, async (yieldTurn) => {
      const found = await collectRows(
        { ...walk, filterView: (row) => row, filterOptions: REGISTRATION_FILTER },
        query.filter,
        sliceOptions(yieldTurn),
      )
      return found.ok ? ok(json(choose.value(found.value))) : found
    }),
  )
}

/** Scans the instances of a service, by namespace and ID. */
function scanInstances(
  { tables }: Store,
  { caller, namespace, params }: V1Request<typeof v1Routes.readService>,
): RowScan<ServiceRegistration> {
  const table = tables.service_registrations
  const name = params.service_name
  if (namespace !== '*') {
    const group = { index: 'service', group: namespacedKey(namespace, name) }
    return scanIndexByKey(table, group, NAMESPACED_KEY_CODEC)
  }
  return filterVisible(
    scanByKey(table, '', NAMESPACED_KEY_CODEC),
    (row) => row.ServiceName === name && caller.grants.allows(row.Namespace, 'read-job'),
  )
}

function listJobServices(
  store: Store,
  { namespace, params }: V1Request<typeof v1Routes.listJobServices>,
): WatchedRead {
  const key = namespacedKey(namespace, params.job_id)
  return servicesPlan(store, namespaceScope(namespace), () =>
    store.tables.jobs.has(key)
      ? ok(registrationsResponse(store, 'job', key))
      : err(refusal('job-not-found', 'job not found')),
  )
}

function listAllocationServices(
  store: Store,
  { caller, params }: V1Request<typeof v1Routes.listAllocationServices>,
): Result<WatchedRead, Refusal> {
  const id = checkUuid('alloc', params.alloc_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  return ok(
    servicesPlan(store, permittedScope(caller, READ_JOB), () =>
      canReadAllocation(store, caller, id.value)
        ? ok(registrationsResponse(store, 'allocation', id.value))
        : err(refusal('alloc-not-found', 'allocation not found')),
    ),
  )
}

function canReadAllocation({ tables }: Store, { grants }: Caller, id: string): boolean {
  const row = tables.allocations.find(id)
  return row !== undefined && grants.allows(row.Namespace, 'read-job')
}

function registrationsResponse(
  { tables }: Store,
  index: 'job' | 'allocation',
  group: string,
): HttpResponse {
  const rows = tables.service_registrations.rowsByIndex(index, group)
  return json(rows.toSorted((a, b) => compareText(a.ID, b.ID)))
}
