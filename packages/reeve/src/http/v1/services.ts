import { ServiceRegistration, v1Routes } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
import { checkUuid, refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey, type NamespaceScope, type Store } from '../../state/index.ts'
import {
  chosenFew,
  deleteService,
  serviceNames,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY, json, type Answer } from '../answer.ts'
import { collectRows } from '../list-page.ts'
import { slicesOf } from '../slices.ts'
import { read, write, type Endpoint, type ReadPlan, type RequestOf } from './endpoint.ts'
import { listAnswer } from './list-answer.ts'
import { namespaceScope, READ_JOB, scopeOf, scopeOfRight, watchTables } from './namespace-scope.ts'
import { anyone, inNamespace } from './requirements.ts'
import { NAMESPACED_TOKEN, visible, walkGroupKeys, walkKeys, type Walk } from './walks.ts'

const FILTER = { kinds: fieldKindsFromSchema(ServiceRegistration) }
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
        return deleted.ok ? ok({ index: deleted.value.index, answer: EMPTY }) : deleted
      },
    ),
    read(v1Routes.listJobServices, readJob, (request) => ok(ofJob(store, request))),
    read(v1Routes.listAllocationServices, anyone, (request) => ofAllocation(store, request)),
  ]
}

/** Every list of services has the index of all registrations in its namespaces. */
function plan(store: Store, scope: NamespaceScope, answer: ReadPlan['answer']): ReadPlan {
  return { ...watchTables(store, ['service_registrations'], scope), answer }
}

function listServices(store: Store, request: RequestOf<typeof v1Routes.listServices>): ReadPlan {
  const { caller, namespace } = request
  return plan(store, scopeOf(request, READ_JOB), async (yieldTurn) => {
    const all = namespace === '*' ? [...store.tables.namespaces.keys()] : [namespace]
    const namespaces = all.filter((name) => caller.grants.allows(name, 'read-job'))
    return ok(json(await serviceNames(store.tables, { namespaces, nextTurn: yieldTurn })))
  })
}

function readService(
  store: Store,
  request: RequestOf<typeof v1Routes.readService>,
): Result<ReadPlan, Refusal> {
  const { query } = request
  const walk = instancesOf(store, request)
  const scope = scopeOf(request, READ_JOB)
  if (query.choose === undefined)
    return ok(
      plan(store, scope, (yieldTurn) =>
        listAnswer({ walk, query, filter: FILTER, stub: (row) => row }, yieldTurn),
      ),
    )
  const choose = chosenFew(query.choose)
  if (!choose.ok) return choose
  return ok(
    plan(store, scope, async (yieldTurn) => {
      const found = await collectRows(
        { ...walk, filterView: (row) => row, filterOptions: FILTER },
        query.filter,
        slicesOf(yieldTurn),
      )
      return found.ok ? ok(json(choose.value(found.value))) : found
    }),
  )
}

/** The instances of a service, by namespace and id. */
function instancesOf(
  { tables }: Store,
  { caller, namespace, params }: RequestOf<typeof v1Routes.readService>,
): Walk<ServiceRegistration> {
  const table = tables.service_registrations
  const name = params.service_name
  if (namespace !== '*') {
    const group = { index: 'service', group: namespacedKey(namespace, name) }
    return walkGroupKeys(table, group, NAMESPACED_TOKEN)
  }
  return visible(
    walkKeys(table, '', NAMESPACED_TOKEN),
    (row) => row.ServiceName === name && caller.grants.allows(row.Namespace, 'read-job'),
  )
}

function ofJob(
  store: Store,
  { namespace, params }: RequestOf<typeof v1Routes.listJobServices>,
): ReadPlan {
  const key = namespacedKey(namespace, params.job_id)
  return plan(store, namespaceScope(namespace), () =>
    store.tables.jobs.has(key)
      ? ok(rowsAnswer(store, 'job', key))
      : err(refusal('job-not-found', 'job not found')),
  )
}

function ofAllocation(
  store: Store,
  { caller, params }: RequestOf<typeof v1Routes.listAllocationServices>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('alloc', params.alloc_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  return ok(
    plan(store, scopeOfRight(caller, READ_JOB), () =>
      maySee(store, caller, id.value)
        ? ok(rowsAnswer(store, 'allocation', id.value))
        : err(refusal('alloc-not-found', 'allocation not found')),
    ),
  )
}

function maySee({ tables }: Store, { grants }: Caller, id: string): boolean {
  const row = tables.allocations.find(id)
  return row !== undefined && grants.allows(row.Namespace, 'read-job')
}

function rowsAnswer({ tables }: Store, index: 'job' | 'allocation', group: string): Answer {
  const rows = tables.service_registrations.rowsIn(index, group)
  return json(rows.toSorted((a, b) => compareText(a.ID, b.ID)))
}
