import { Job, v1Routes, type JobStatusesRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { compileFilter, fieldTypeFromSchema, leadingConjuncts } from '../../lang/filter/index.ts'
import { PERMISSION_DENIED, type Refusal } from '../../model/index.ts'
import { namespacedKey, type NamespaceScope } from '../../state/index.ts'
import {
  snapshotOfKeys,
  INDEXED_JOB_FIELDS,
  jobCountsRow,
  JobsByModifyIndex,
  jobStatusRow,
  scanJobIndex,
  type JobIndexEntry,
  type WorkloadContext,
} from '../../workload/index.ts'
import { jsonItems, type HttpResponse } from '../response.ts'
import { buildPage, sliceOptions } from '../list-page.ts'
import { read, type Endpoint, type WatchedRead, type V1Request } from './endpoint.ts'
import {
  READ_JOB,
  requestScope,
  permittedScope,
  watchTables,
  NAMESPACED_KEY_CODEC,
  type RowScan,
} from './reads.ts'
import { inNamespace, inAnyNamespace } from './access.ts'

const JOB_FILTER = { rowType: fieldTypeFromSchema(Job) }
/** Fields that the key of a job contains. */
const KEY_FIELDS: ReadonlySet<string> = new Set(['ID', 'Namespace'])
const FACT_FIELDS: ReadonlySet<string> = new Set(INDEXED_JOB_FIELDS)

type StatusesRequest = Omit<V1Request<typeof v1Routes.listJobStatuses>, 'body'>

/** The selection of either route. */
interface StatusSelection {
  readonly request: StatusesRequest
  /** Keys of the named jobs; undefined selects all jobs. */
  readonly names: ReadonlySet<string> | undefined
  readonly withChildren: boolean
}

/** Returns the routes that list jobs with the status of their allocations. */
export function jobStatusEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const jobsByChange = new JobsByModifyIndex(context.store)
  const plan = (selection: StatusSelection): WatchedRead => ({
    // Watch every write to these tables: the highest index of the page, as peers return it, does
    // not change when a job or an allocation is deleted.
    ...watchTables(context.store, WATCHED_TABLES, watchedScope(selection)),
    respond: () => statusesResponse(context, jobsByChange, selection),
  })
  return [
    read(v1Routes.listJobStatuses, inNamespace('read-job'), (request) =>
      ok(
        plan({
          request,
          names: undefined,
          withChildren: request.query.include_children ?? false,
        }),
      ),
    ),
    // The body may name jobs of any namespace, so it is checked before permissions.
    read(v1Routes.listStatusesOfJobs, inAnyNamespace('read-job'), (request) => {
      const selection = parseNamedJobs(request)
      return selection.ok ? ok(plan(selection.value)) : selection
    }),
  ]
}

const WATCHED_TABLES = ['jobs', 'allocations', 'deployments', 'service_registrations'] as const

/** Returns the watched namespaces. Jobs selected by key may be in any namespace. */
function watchedScope({ request, names }: StatusSelection): NamespaceScope {
  return names === undefined
    ? requestScope(request, READ_JOB)
    : permittedScope(request.caller, READ_JOB)
}

function parseNamedJobs(
  request: V1Request<typeof v1Routes.listStatusesOfJobs>,
): Result<StatusSelection, Refusal> {
  const { caller, namespace } = request
  const body: JobStatusesRequest = request.body ?? {}
  const named = body.Jobs ?? []
  const withChildren = body.IncludeChildren ?? request.query.include_children ?? false
  if (named.length === 0)
    return inNamespace('read-job')(caller, request)
      ? ok({ request, names: undefined, withChildren })
      : err(PERMISSION_DENIED)
  const defaultNamespace = namespace === '*' ? 'default' : namespace
  const names = new Set(
    named.map(({ ID, Namespace }) => namespacedKey(Namespace || defaultNamespace, ID ?? '')),
  )
  return ok({ request, names, withChildren })
}

async function statusesResponse(
  context: WorkloadContext,
  jobsByChange: JobsByModifyIndex,
  selection: StatusSelection,
): Promise<Result<HttpResponse, Refusal>> {
  const { jobs } = context.store.tables
  const slices = sliceOptions(selection.request.yieldTurn)
  const page = await buildPage(
    {
      ...scanChangedJobs(context, jobsByChange, selection),
      filterOptions: JOB_FILTER,
      filterView: ({ key }) => jobs.find(key),
      // Only the keys of the page are selected here: a job may have more allocations than fit into
      // one turn.
      render: ({ key }) => key,
    },
    selection.request.query,
    slices,
  )
  if (!page.ok) return page
  const rowOf = selection.request.query.counts === true ? jobCountsRow : jobStatusRow
  const texts = await runInSlices(renderStatuses(context, page.value.items, rowOf), slices)
  return ok(jsonItems(texts, page.value.nextToken))
}

function* renderStatuses(
  context: WorkloadContext,
  keys: readonly string[],
  rowOf: typeof jobStatusRow,
): Steps<readonly string[]> {
  const { jobs } = context.store.tables
  const items: string[] = []
  for (const key of keys) {
    // The job may have been deleted since the page was selected.
    const job = jobs.find(key)
    if (job !== undefined) items.push(JSON.stringify(rowOf(context, job)))
    yield
  }
  return items
}

function scanChangedJobs(
  { store }: WorkloadContext,
  jobsByChange: JobsByModifyIndex,
  { request, names, withChildren }: StatusSelection,
): RowScan<JobIndexEntry> {
  const { caller, namespace, query } = request
  const { jobs } = store.tables
  const prefix = query.prefix ?? ''
  // One order for the whole response, although it is walked in slices.
  const order = names === undefined ? jobsByChange.snapshot : snapshotOfKeys(store, names)
  const mayMatch = compilePrefilter(query.filter)
  const isReadable = (of: string): boolean =>
    (names !== undefined || namespace === '*' || of === namespace) &&
    caller.grants.allows(of, 'read-job')
  return {
    scan: (from, reverse) =>
      scanJobIndex(order, from === undefined ? undefined : parsePosition(from, reverse), reverse),
    tokenOf: ({ modifyIndex, key }) => `${modifyIndex}.${NAMESPACED_KEY_CODEC.fromKey(key)}`,
    isVisible: (entry) => {
      const name = splitKey(entry)
      if (!jobs.has(entry.key) || !isReadable(name.Namespace) || !name.ID.startsWith(prefix))
        return false
      // Child jobs that are selected by key are always listed.
      const isListed =
        withChildren || names !== undefined || jobs.indexKeyOf('parent', entry.key) === undefined
      return isListed && mayMatch(entry)
    },
  }
}

/** Returns namespace and ID from a key `<namespace>!<id>`; names of namespaces have no `!`. */
function splitKey({ key }: JobIndexEntry): { readonly Namespace: string; readonly ID: string } {
  const end = key.indexOf('!')
  return { Namespace: key.slice(0, end), ID: key.slice(end + 1) }
}

/**
 * Evaluates as much of a filter as possible without decoding a job: by its key, then by the facts
 * kept with the order. Decoding a hundred thousand rows takes a second.
 */
function compilePrefilter(text: string | undefined): (entry: JobIndexEntry) => boolean {
  const filter = compileFilter(text ?? '', JOB_FILTER)
  // An empty filter matches everything, and an invalid one is rejected by the list.
  if (!filter.ok) return () => true
  const byKey = leadingConjuncts(filter.value, KEY_FIELDS)
  const byFacts = leadingConjuncts(filter.value, FACT_FIELDS)
  const fails = (verdict: ReturnType<typeof filter.value.matches> | undefined): boolean =>
    verdict?.ok === true && !verdict.value
  return (entry) =>
    !fails(byKey?.matches(splitKey(entry))) && !fails(byFacts?.matches(entry.fields))
}

/** Above every key. */
const KEY_MAX = '\uffff'

/**
 * Parses a token `<ModifyIndex>.<namespace>.<id>`; an index alone starts at the first job that
 * changed at it.
 */
function parsePosition(
  token: string,
  reverse: boolean,
): Pick<JobIndexEntry, 'modifyIndex' | 'key'> {
  const [index = ''] = token.split('.', 1)
  const name = token.slice(index.length + 1)
  const key = name === '' && reverse ? KEY_MAX : NAMESPACED_KEY_CODEC.toKey(name)
  return { modifyIndex: Number(index) || 0, key }
}
