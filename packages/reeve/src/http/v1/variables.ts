import { v1Routes, VariableMetadata, type VariableRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { pathAsRequested, canonicalPath, type HttpAliases } from '../../compat/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import {
  PERMISSION_DENIED,
  refusal,
  variableMetadata,
  type Refusal,
  type VariableRow,
  type RefusalCode,
} from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import {
  deleteVariable,
  openItems,
  VARIABLE_NOT_FOUND,
  writeVariable,
  type LockOperation,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json, type HttpResponse, ERROR_CODE_HEADER } from '../response.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type AccessRule,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import {
  namespaceScope,
  requestScope,
  watchTables,
  type NamespacePermission,
  filterVisible,
  listWatched,
  NAMESPACED_KEY_CODEC,
  readRow,
  scanByKey,
} from './reads.ts'
import { requireBody } from './errors.ts'

const METADATA_FILTER = { rowType: fieldTypeFromSchema(VariableMetadata) }

/**
 * Returns the routes of variables. Permissions depend on the path of a variable, which each handler
 * checks.
 */
export function variableEndpoints(
  context: WorkloadContext,
  directories: Directories,
): readonly Endpoint[] {
  const namesFor = (requested: string): PathNames => pathNames(directories, requested)
  return [
    read(v1Routes.listVariables, inNamespaceAnyPath('list'), (request) =>
      ok(listVariables(context.store, request, namesFor(request.query.prefix ?? ''))),
    ),
    read(v1Routes.readVariable, inNamespaceAnyPath('read'), (request) =>
      readVariable(context, request, namesFor(request.params.path)),
    ),
    write(v1Routes.writeVariable, inAnyNamespace('write'), (request) =>
      writeVariableRoute(context, request, namesFor(request.params.path)),
    ),
    write(v1Routes.deleteVariable, inAnyNamespace('destroy'), (request) =>
      deleteVariableRoute(context, request, namesFor(request.params.path)),
    ),
  ]
}

type Directories = HttpAliases['variableDirectories']

/** The canonical path of a request, and the path names for its response. */
interface PathNames {
  readonly path: string
  readonly canonical: (path: string) => string
  readonly asRequested: (path: string) => string
}

function pathNames(directories: Directories, requested: string): PathNames {
  const canonical = (path: string): string => canonicalPath(directories, path)
  return {
    path: canonical(requested),
    canonical,
    asRequested: (path) => pathAsRequested(directories, path, requested),
  }
}

type Capability = 'list' | 'read' | 'write' | 'destroy'

function inNamespaceAnyPath(capability: Capability): AccessRule {
  return ({ grants }, { namespace }) => grants.allowsAnyVariable(namespace, capability)
}

/** Requires the capability in any namespace: the body may name it. */
function inAnyNamespace(capability: Capability): AccessRule {
  return ({ grants }) => grants.allowsAnyVariable('*', capability)
}

/** Permission on some path of the namespace; each variable is checked separately. */
const LIST_VARIABLES: NamespacePermission = {
  name: 'list variables',
  isGranted: (grants, namespace) => grants.allowsAnyVariable(namespace, 'list'),
}

function listVariables(
  store: Store,
  request: V1Request<typeof v1Routes.listVariables>,
  { path: prefix, asRequested }: PathNames,
): WatchedRead {
  const { caller, namespace, query } = request
  const { variables } = store.tables
  const low = namespace === '*' ? '' : namespacedKey(namespace, prefix)
  const isVisible = ({ Namespace, Path }: VariableRow): boolean =>
    Path.startsWith(prefix) && caller.grants.variable(Namespace, Path, 'list')
  return listWatched(
    watchTables(store, ['variables'], requestScope(request, LIST_VARIABLES)),
    () => ({
      scan: filterVisible(scanByKey(variables, low, NAMESPACED_KEY_CODEC), isVisible),
      query,
      filter: METADATA_FILTER,
      filterView: (row) => metadataFor(caller, row, asRequested),
      stub: (row) => metadataFor(caller, row, asRequested),
    }),
  )
}

function readVariable(
  context: WorkloadContext,
  { caller, namespace }: V1Request<typeof v1Routes.readVariable>,
  { path, asRequested }: PathNames,
): Result<WatchedRead, Refusal> {
  if (!caller.grants.variable(namespace, path, 'read')) return err(PERMISSION_DENIED)
  return ok(
    readRow(context.store.tables.variables, {
      key: namespacedKey(namespace, path),
      notFound: VARIABLE_NOT_FOUND,
      missingIndex: () => context.store.indexIn('variables', namespaceScope(namespace)),
      render: (row) => variableWithItems(context, caller, row, asRequested),
    }),
  )
}

function metadataFor(
  { grants }: Caller,
  row: VariableRow,
  asRequested: PathNames['asRequested'],
): VariableMetadata {
  const metadata = variableMetadata(row, grants.variable(row.Namespace, row.Path, 'write'))
  return { ...metadata, Path: asRequested(row.Path) }
}

function variableWithItems(
  { sealer }: WorkloadContext,
  caller: Caller,
  row: VariableRow,
  asRequested: PathNames['asRequested'],
): object {
  return { ...metadataFor(caller, row, asRequested), Items: openItems(sealer, row) }
}

async function writeVariableRoute(
  context: WorkloadContext,
  { caller, query, body: rawBody }: WriteRequestOf<typeof v1Routes.writeVariable>,
  { path, canonical, asRequested }: PathNames,
): Promise<Result<WriteResult, Refusal>> {
  const cas = parseCas(query.cas)
  if (!cas.ok) return cas
  const lock = parseLockOperation(query)
  if (!lock.ok) return lock
  const required = requireBody(rawBody)
  if (!required.ok) return required
  const body = required.value
  const namespace = query.namespace || body.Namespace || 'default'
  const target = { namespace, path, cas: cas.value }
  const written = await writeVariable(context, caller, {
    ...target,
    body: { ...body, Path: canonical(body.Path ?? '') },
    lock: lock.value,
  })
  if (!written.ok) return written
  const { kind, row, index } = written.value
  if (kind === 'conflict' || row === undefined)
    return ok({ index, response: conflictResponse(context, caller, { target, row, asRequested }) })
  const metadata = metadataFor(caller, row, asRequested)
  // Only the lock is written, so the variable need not be returned.
  if (lock.value === 'renew' || lock.value === 'release')
    return ok({ index, response: json(metadata) })
  // A caller that has just written the items may see them; one that only acquired a lock needs
  // permission.
  const mayRead = caller.grants.variable(namespace, row.Path, 'read') || hasItems(body)
  const Items = mayRead ? openItems(context.sealer, row) : {}
  return ok({ index, response: json({ ...metadata, Items }) })
}

function hasItems({ Items }: VariableRequest): boolean {
  return Items !== undefined && Items !== null
}

async function deleteVariableRoute(
  context: WorkloadContext,
  { caller, namespace, query }: WriteRequestOf<typeof v1Routes.deleteVariable>,
  { path, asRequested }: PathNames,
): Promise<Result<WriteResult, Refusal>> {
  const cas = parseCas(query.cas)
  if (!cas.ok) return cas
  const target = { namespace, path, cas: cas.value }
  const deleted = await deleteVariable(context, caller, target)
  if (!deleted.ok) return deleted
  const { kind, row, index } = deleted.value
  if (kind === 'done') return ok({ index, response: { status: 204, body: { kind: 'empty' } } })
  return ok({ index, response: conflictResponse(context, caller, { target, row, asRequested }) })
}

interface Conflict {
  readonly target: { readonly namespace: string; readonly path: string }
  readonly row: VariableRow | undefined
  readonly asRequested: PathNames['asRequested']
}

/** Returns the conflicting variable, with its values if the caller may read them. */
function conflictResponse(
  context: WorkloadContext,
  caller: Caller,
  { target, row, asRequested }: Conflict,
): HttpResponse {
  const { namespace, path } = target
  const mayRead = caller.grants.variable(namespace, path, 'read')
  const current =
    row === undefined
      ? { Namespace: namespace, Path: asRequested(path), ...MISSING_METADATA }
      : mayRead
        ? variableWithItems(context, caller, row, asRequested)
        : metadataFor(caller, row, asRequested)
  const headers = { [ERROR_CODE_HEADER]: 'index-conflict' satisfies RefusalCode }
  return { ...json(current), status: 409, headers }
}

/** Metadata of a variable that does not exist. */
const MISSING_METADATA = { CreateIndex: 0, CreateTime: 0, ModifyIndex: 0, ModifyTime: 0 }

function parseCas(text: string | undefined): Result<number | undefined, Refusal> {
  if (text === undefined) return ok(undefined)
  const cas = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(cas)) return ok(cas)
  const reason = `strconv.ParseUint: parsing "${text.slice(0, 64)}": invalid syntax`
  return err(refusal('invalid-input', `can not parse cas: ${reason}`))
}

const LOCK_OPERATIONS = ['acquire', 'renew', 'release'] as const satisfies readonly LockOperation[]

function parseLockOperation(
  query: WriteRequestOf<typeof v1Routes.writeVariable>['query'],
): Result<LockOperation | undefined, Refusal> {
  const operations = LOCK_OPERATIONS.filter((name) => query[`lock-${name}`] !== undefined)
  if (operations.length <= 1) return ok(operations[0])
  return err(refusal('invalid-input', 'only one lock operation can be requested at once'))
}
