import { Job, v1Routes, type JobStatusesRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { compileFilter, fieldKindsFromSchema, leadingPart } from '../../lang/filter/index.ts'
import { PERMISSION_DENIED, type Refusal } from '../../model/index.ts'
import { namespacedKey, type NamespaceScope } from '../../state/index.ts'
import {
  changedJobs,
  JOB_FACTS,
  jobCountsRow,
  JobsByChange,
  jobStatusRow,
  walkChanges,
  type ChangedJob,
  type WorkloadContext,
} from '../../workload/index.ts'
import { jsonItems, type Answer } from '../answer.ts'
import { buildPage } from '../list-page.ts'
import { slicesOf } from '../slices.ts'
import { read, type Endpoint, type ReadPlan, type RequestOf } from './endpoint.ts'
import { READ_JOB, scopeOf, scopeOfRight, watchTables } from './namespace-scope.ts'
import { inNamespace, somewhere } from './requirements.ts'
import { NAMESPACED_TOKEN, type Walk } from './walks.ts'

const JOB_FILTER = { kinds: fieldKindsFromSchema(Job) }
/** Fields that the key of a job contains. */
const KEY_FIELDS: ReadonlySet<string> = new Set(['ID', 'Namespace'])
const FACT_FIELDS: ReadonlySet<string> = new Set(JOB_FACTS)

type StatusesRequest = Omit<RequestOf<typeof v1Routes.listJobStatuses>, 'body'>

/** The selection of either route. */
interface Wanted {
  readonly request: StatusesRequest
  /** Keys of the named jobs; undefined selects all jobs. */
  readonly names: ReadonlySet<string> | undefined
  readonly withChildren: boolean
}

/** Returns the routes that list jobs with the status of their allocations. */
export function jobStatusEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const all = new JobsByChange(context.store)
  const plan = (wanted: Wanted): ReadPlan => ({
    // Watch every write to these tables: the highest index of the page, as peers return it, does
    // not change when a job or an allocation is deleted.
    ...watchTables(context.store, WATCHED, scopeOfWanted(wanted)),
    answer: () => statuses(context, all, wanted),
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
    read(v1Routes.listStatusesOfJobs, somewhere('read-job'), (request) => {
      const wanted = namedJobs(request)
      return wanted.ok ? ok(plan(wanted.value)) : wanted
    }),
  ]
}

const WATCHED = ['jobs', 'allocations', 'deployments', 'service_registrations'] as const

/** Returns the watched namespaces. Jobs selected by key may be in any namespace. */
function scopeOfWanted({ request, names }: Wanted): NamespaceScope {
  return names === undefined ? scopeOf(request, READ_JOB) : scopeOfRight(request.caller, READ_JOB)
}

function namedJobs(
  request: RequestOf<typeof v1Routes.listStatusesOfJobs>,
): Result<Wanted, Refusal> {
  const { caller, namespace } = request
  const body: JobStatusesRequest = request.body ?? {}
  const named = body.Jobs ?? []
  const withChildren = body.IncludeChildren ?? request.query.include_children ?? false
  if (named.length === 0)
    return inNamespace('read-job')(caller, request)
      ? ok({ request, names: undefined, withChildren })
      : err(PERMISSION_DENIED)
  const own = namespace === '*' ? 'default' : namespace
  const names = new Set(named.map(({ ID, Namespace }) => namespacedKey(Namespace || own, ID ?? '')))
  return ok({ request, names, withChildren })
}

async function statuses(
  context: WorkloadContext,
  all: JobsByChange,
  wanted: Wanted,
): Promise<Result<Answer, Refusal>> {
  const { jobs } = context.store.tables
  const slices = slicesOf(wanted.request.yieldTurn)
  const page = await buildPage(
    {
      ...walkOf(context, all, wanted),
      filterOptions: JOB_FILTER,
      filterView: ({ key }) => jobs.find(key),
      // Only the keys of the page are selected here: a job may have more allocations than fit into
      // one turn.
      render: ({ key }) => key,
    },
    wanted.request.query,
    slices,
  )
  if (!page.ok) return page
  const rowOf = wanted.request.query.counts === true ? jobCountsRow : jobStatusRow
  const texts = await runInSlices(statusTexts(context, page.value.items, rowOf), slices)
  return ok(jsonItems(texts, page.value.nextToken))
}

function* statusTexts(
  context: WorkloadContext,
  keys: readonly string[],
  rowOf: typeof jobStatusRow,
): Steps<readonly string[]> {
  const { jobs } = context.store.tables
  const texts: string[] = []
  for (const key of keys) {
    // The job may have been deleted since the page was selected.
    const job = jobs.find(key)
    if (job !== undefined) texts.push(JSON.stringify(rowOf(context, job)))
    yield
  }
  return texts
}

function walkOf(
  { store }: WorkloadContext,
  all: JobsByChange,
  { request, names, withChildren }: Wanted,
): Walk<ChangedJob> {
  const { caller, namespace, query } = request
  const { jobs } = store.tables
  const prefix = query.prefix ?? ''
  // One order for the whole response, although it is walked in slices.
  const order = names === undefined ? all.order : changedJobs(store, names)
  const mayPass = prefilter(query.filter)
  const isIn = (of: string): boolean =>
    (names !== undefined || namespace === '*' || of === namespace) &&
    caller.grants.allows(of, 'read-job')
  return {
    walk: (from, reverse) =>
      walkChanges(order, from === undefined ? undefined : positionOf(from, reverse), reverse),
    tokenOf: ({ modifyIndex, key }) => `${modifyIndex}.${NAMESPACED_TOKEN.fromKey(key)}`,
    isVisible: (entry) => {
      const name = nameOf(entry)
      if (!jobs.has(entry.key) || !isIn(name.Namespace) || !name.ID.startsWith(prefix)) return false
      // Child jobs that are selected by key are always listed.
      const isListed =
        withChildren || names !== undefined || jobs.groupOf('parent', entry.key) === undefined
      return isListed && mayPass(entry)
    },
  }
}

/** Returns namespace and ID from a key `<namespace>!<id>`; names of namespaces have no `!`. */
function nameOf({ key }: ChangedJob): { readonly Namespace: string; readonly ID: string } {
  const end = key.indexOf('!')
  return { Namespace: key.slice(0, end), ID: key.slice(end + 1) }
}

/**
 * Evaluates as much of a filter as possible without decoding a job: by its key, then by the facts
 * kept with the order. Decoding a hundred thousand rows takes a second.
 */
function prefilter(text: string | undefined): (entry: ChangedJob) => boolean {
  const filter = compileFilter(text ?? '', JOB_FILTER)
  // An empty filter matches everything, and an invalid one is rejected by the list.
  if (!filter.ok) return () => true
  const byKey = leadingPart(filter.value, KEY_FIELDS)
  const byFacts = leadingPart(filter.value, FACT_FIELDS)
  const fails = (verdict: ReturnType<typeof filter.value.matches> | undefined): boolean =>
    verdict?.ok === true && !verdict.value
  return (entry) => !fails(byKey?.matches(nameOf(entry))) && !fails(byFacts?.matches(entry.facts))
}

/** Above every key. */
const ABOVE = '\uffff'

/**
 * Parses a token `<ModifyIndex>.<namespace>.<id>`; an index alone starts at the first job that
 * changed at it.
 */
function positionOf(token: string, reverse: boolean): Pick<ChangedJob, 'modifyIndex' | 'key'> {
  const [index = ''] = token.split('.', 1)
  const name = token.slice(index.length + 1)
  const key = name === '' && reverse ? ABOVE : NAMESPACED_TOKEN.toKey(name)
  return { modifyIndex: Number(index) || 0, key }
}
