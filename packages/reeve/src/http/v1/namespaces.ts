import { v1Routes, type NamespaceRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { Author, Store } from '../../state/index.ts'
import {
  deleteNamespace,
  NAMESPACE_NOT_FOUND,
  writeNamespace,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY } from '../answer.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Written,
} from './endpoint.ts'
import { requiredBody } from './required-body.ts'
import { anyone, management } from './requirements.ts'
import { listRows, readRow } from './row-reads.ts'
import { visible, walkKeys } from './walks.ts'

export function namespaceEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listNamespaces, anyone, (request) => ok(listNamespaces(store, request))),
    read(v1Routes.readNamespace, anyone, (request) => readNamespace(store, request)),
    write(v1Routes.writeNamespace, management, async (request) => {
      const body = requiredBody(request.body)
      return body.ok ? storeNamespace(context, request.caller, body.value) : body
    }),
    write(v1Routes.writeNamespaceByName, management, async ({ params, ...request }) => {
      const body = requiredBody(request.body)
      if (!body.ok) return body
      // The path contains the name; a body may omit it.
      const Name = body.value.Name ?? params.namespace_name
      if (Name !== params.namespace_name)
        return err(refusal('invalid-input', 'Namespace name does not match request path'))
      return storeNamespace(context, request.caller, { ...body.value, Name })
    }),
    write(v1Routes.deleteNamespace, management, async ({ caller, params, secret }) => {
      const deleted = await deleteNamespace(context, caller, params.namespace_name, secret ?? '')
      return deleted.ok ? ok({ index: deleted.value.index, answer: EMPTY }) : deleted
    }),
  ]
}

async function storeNamespace(
  context: WorkloadContext,
  author: Author,
  request: NamespaceRequest,
): Promise<Result<Written, Refusal>> {
  const written = await writeNamespace(context, author, request)
  return written.ok ? ok({ index: written.value.index, answer: EMPTY }) : written
}

/** Lists the namespaces in which the caller has a permission; empty if it has none anywhere. */
function listNamespaces(
  store: Store,
  { caller, query }: RequestOf<typeof v1Routes.listNamespaces>,
): ReadPlan {
  const { namespaces } = store.tables
  return listRows(namespaces, () => ({
    walk: visible(walkKeys(namespaces, query.prefix ?? ''), (row) =>
      caller.grants.seesNamespace(row.Name),
    ),
    query: {},
    filter: {},
    stub: (row) => row,
  }))
}

function readNamespace(
  store: Store,
  { caller, params }: RequestOf<typeof v1Routes.readNamespace>,
): Result<ReadPlan, Refusal> {
  const name = params.namespace_name
  if (!caller.grants.seesNamespace(name)) return err(PERMISSION_DENIED)
  return ok(readRow(store.tables.namespaces, { key: name, missing: NAMESPACE_NOT_FOUND }))
}
