import { useQueryClient, type InfiniteData } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { type Event, JOB_STATUSES, JOB_TYPES, type JobStatusRow } from '@reeve/contract'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { FIRST_COMMANDS, quoteShellArg } from '../../commands.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { EmptyState, Loading } from '../../components/notices.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { PageHeader } from '../../components/page.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useCursorList, type PagedList } from '../../data/lists.ts'
import { useEventBatch, useLiveStatus } from '../../data/live.tsx'
import { dateFromNs, failureTitle } from '../../format.ts'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/jobs.css'
import { AllocationBar } from './allocation-graphics.tsx'
import { countsOfRow, currentCounts } from './allocation-counts.ts'
import { filterExpression, type JobFilter, readJobFilter } from './job-filter.ts'

const COLUMNS: readonly Column<JobStatusRow>[] = [
  {
    id: 'job',
    head: 'Job',
    cell: (job) => job.ID,
  },
  {
    id: 'status',
    head: 'Status',
    width: '128px',
    cell: ({ Health }) => <StatusBadge state={Health} />,
  },
  {
    id: 'allocations',
    head: 'Allocations',
    width: '34%',
    isExtra: true,
    cell: (job) => <Allocations job={job} />,
  },
  { id: 'type', head: 'Type', width: '136px', isExtra: true, cell: (job) => typeOf(job) },
  {
    id: 'namespace',
    head: 'Namespace',
    width: '120px',
    isExtra: true,
    cell: (job) => job.Namespace,
  },
  {
    id: 'submitted',
    head: 'Submitted',
    width: '104px',
    isExtra: true,
    cell: (job) => <RelativeTime date={dateFromNs(job.SubmitTime)} />,
  },
]

function Allocations({ job }: { readonly job: JobStatusRow }) {
  const { ChildCounts } = job
  if (ChildCounts !== null && ChildCounts !== undefined) {
    const { Pending, Running, Dead } = ChildCounts
    const all = Pending + Running + Dead
    return all === 0 ? 'No runs yet' : `${all} child jobs, ${Running} running`
  }
  const isTerminal = job.Stop || job.Status === 'dead'
  const counts = currentCounts(job, countsOfRow(job))
  const desired = isTerminal || isSystem(job) ? 0 : job.GroupCountSum
  if (job.Failure === null) return <AllocationBar counts={counts} desired={desired} />
  const reason = failureTitle(job.Failure)
  return (
    <span className="bar-and-reason">
      <AllocationBar counts={counts} desired={desired} />
      <span className="quiet" title={reason}>
        {reason}
      </span>
    </span>
  )
}

function isSystem({ Type }: JobStatusRow): boolean {
  return Type === 'system' || Type === 'sysbatch'
}

function typeOf({ Type, ChildStatuses }: JobStatusRow) {
  return ChildStatuses === null ? Type : `${Type}, parent`
}

/** The list of jobs of a namespace, latest change first. */
export function JobListPage({ search }: PageProps<'/jobs'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const jobFilter = readJobFilter(search)
  const filter = filterExpression(jobFilter)
  const rows = useJobRows({ namespace, filter, isReversed: jobFilter.order === 'oldest' })
  return (
    <>
      <PageHeader
        title="Jobs"
        actions={
          <Link className="button primary" href={paths.runJob({ namespace })}>
            Submit job
          </Link>
        }
      />
      <JobFilterBar filter={jobFilter} />
      {rows.newCount > 0 && (
        <button type="button" className="button new-rows" onClick={rows.reload}>
          {rows.newCount} new or changed jobs: show them
        </button>
      )}
      {rows.error !== null && <ErrorMessage error={rows.error} retry={rows.retry} />}
      {rows.isPending ? (
        <Loading what="the jobs" />
      ) : (
        rows.error === null && (
          <DataTable
            label="Jobs"
            columns={COLUMNS}
            rows={rows.items}
            keyOf={(job) => `${job.Namespace}/${job.ID}`}
            hrefOf={(job) => paths.job({ namespace: job.Namespace, id: job.ID })}
            hasMore={rows.hasMore}
            onEndReached={rows.loadMore}
            empty={filter === undefined ? <NoJobs namespace={namespace} /> : <NoMatch />}
          />
        )
      )}
      <CliAndApiPanel
        cli={`reeve job status --namespace ${quoteShellArg(namespace)}`}
        call={{ path: '/v1/jobs/statuses', query: { namespace, filter, counts: true } }}
      />
    </>
  )
}

function NoJobs({ namespace }: { readonly namespace: string }) {
  return (
    <EmptyState
      title="No jobs yet"
      command={FIRST_COMMANDS.jobs}
      action={
        <Link className="button primary" href={paths.runJob({ namespace })}>
          Write a job
        </Link>
      }
    >
      <p>
        A job describes what to run and how many allocations. The scheduler places them on nodes and
        keeps them running. Submitted jobs appear here automatically.
      </p>
    </EmptyState>
  )
}

function NoMatch() {
  return (
    <EmptyState title="No matching jobs">
      <p>
        Remove a filter, or search in all namespaces. The field also takes expressions, such as{' '}
        <code>Priority &gt; 50 and Meta.team == "web"</code>.
      </p>
    </EmptyState>
  )
}

/** Pause in typing after which the filter is applied. */
const TYPING_PAUSE_MS = 200

function JobFilterBar({ filter }: { readonly filter: JobFilter }) {
  const [text, setText] = useState(filter.text)
  useEffect(() => {
    const timer = setTimeout(
      () => navigate(hrefWith({ q: text }), { replace: true }),
      TYPING_PAUSE_MS,
    )
    return () => clearTimeout(timer)
  }, [text])
  return (
    <search className="filters">
      <input
        type="search"
        aria-label="Search jobs by ID or filter expression"
        placeholder="Part of an ID, or a filter expression"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Choice
        name="status"
        label="Status"
        value={filter.status}
        options={[...JOB_STATUSES, 'stopped']}
      />
      <Choice name="type" label="Type" value={filter.type} options={JOB_TYPES} />
      <select
        aria-label="Order"
        value={filter.order}
        onChange={({ target }) =>
          navigate(hrefWith({ order: target.value === 'oldest' ? 'oldest' : undefined }))
        }
      >
        <option value="newest">Newest change first</option>
        <option value="oldest">Oldest change first</option>
      </select>
    </search>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly options: readonly string[]
}

function Choice({ name, label, value, options }: ChoiceProps) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => navigate(hrefWith({ [name]: event.target.value }))}
    >
      <option value="">Any {label.toLowerCase()}</option>
      {options.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  )
}

interface RowsPage {
  readonly items: readonly JobStatusRow[]
  readonly nextToken: string | undefined
}
type Rows = InfiniteData<RowsPage, string>

interface JobRows extends PagedList<JobStatusRow> {
  /** Number of new jobs that are shown on request, because many rows are loaded. */
  readonly newCount: number
  readonly reload: () => void
}

/** Maximum number of rows patched at once; beyond it, the pages are reloaded. */
const PATCHED_ROWS_MAX = 100
/** Lists up to this length are reloaded automatically. */
const RELOAD_ROWS_MAX = 200

interface JobListQuery {
  readonly namespace: string
  readonly filter: string | undefined
  readonly isReversed: boolean
}

/**
 * The rows of the job list. Only rows of changed jobs are reloaded, so that the cost of a change
 * does not depend on the length of the list.
 */
function useJobRows({ namespace, filter, isReversed }: JobListQuery): JobRows {
  const { api } = useSession()
  const queries = useQueryClient()
  const isLive = useLiveStatus() === 'live'
  const [newCount, setNewCount] = useState(0)
  const key = ['job-rows', namespace, filter ?? '', isReversed]
  const list = useCursorList(
    key,
    ({ api: client, signal, pageQuery }) =>
      client.v1.listJobStatuses({
        query: { ...pageQuery, namespace, filter, reverse: isReversed, counts: true },
        signal,
      }),
    // Without events the whole list is polled.
    { watches: isLive ? [] : [{ topic: 'Job', namespace }] },
  )
  const reload = () => {
    setNewCount(0)
    void queries.resetQueries({ queryKey: key, exact: true })
  }
  const isRefreshing = useRef(false)
  const pending = useRef(new Map<string, JobKey>())
  // One request at a time; changes in the meantime go into the next one.
  const refresh = async () => {
    if (isRefreshing.current) return
    isRefreshing.current = true
    while (pending.current.size > 0) {
      const names = [...pending.current.values()]
      pending.current.clear()
      const Jobs = names.map(({ namespace: Namespace, id: ID }) => ({ ID, Namespace }))
      const query = { namespace: '*', filter, counts: true }
      const call = api.v1.listStatusesOfJobs({ query, body: { Jobs } })
      // A failed request leaves the rows unchanged; the next event retries.
      const fresh = await call.then(({ data }) => data).catch(() => undefined)
      if (fresh !== undefined)
        queries.setQueryData<Rows>(key, (rows) => patchRows(rows, names, fresh))
    }
    isRefreshing.current = false
  }
  useEventBatch((events) => {
    const known = new Set(list.items.map((row) => keyText(rowKey(row))))
    const affected = affectedJobs(events)
    const loaded = affected.filter((name) => known.has(keyText(name)))
    const fresh = registeredJobs(events, namespace).filter((name) => !known.has(keyText(name)))
    if (fresh.length > 0 && list.items.length > RELOAD_ROWS_MAX)
      setNewCount(newCount + fresh.length)
    else if (fresh.length > 0 || loaded.length > PATCHED_ROWS_MAX)
      void queries.invalidateQueries({ queryKey: key, exact: true }, { cancelRefetch: false })
    else {
      for (const name of loaded) pending.current.set(keyText(name), name)
      void refresh()
    }
  })
  return { ...list, newCount, reload }
}

interface JobKey {
  readonly namespace: string
  readonly id: string
}

function keyText({ namespace, id }: JobKey): string {
  return `${namespace}\n${id}`
}

function rowKey({ Namespace, ID }: JobStatusRow): JobKey {
  return { namespace: Namespace, id: ID }
}

/** Returns the affected jobs. Records of a job name it in their first filter key. */
function affectedJobs(events: readonly Event[]): readonly JobKey[] {
  const found = new Map<string, JobKey>()
  for (const { Topic, Namespace, Key, FilterKeys } of events) {
    const id = Topic === 'Job' ? Key : FilterKeys?.[0]
    if (id === undefined || id === '' || Topic === 'Node') continue
    // A child job changes the row of its parent, whose ID is a prefix of its own.
    for (const one of [id, id.replace(/\/(?:dispatch|periodic)-.*$/, '')]) {
      const name = { namespace: Namespace, id: one }
      found.set(keyText(name), name)
    }
  }
  return [...found.values()]
}

function registeredJobs(events: readonly Event[], namespace: string): readonly JobKey[] {
  return events.flatMap(({ Topic, Type, Namespace, Key }) => {
    const isHere = namespace === '*' || namespace === Namespace
    const isChild = /\/(?:dispatch|periodic)-/.test(Key)
    const isNew = Topic === 'Job' && Type === 'JobRegistered' && isHere && !isChild
    return isNew ? [{ namespace: Namespace, id: Key }] : []
  })
}

/** Replaces the requested rows; rows missing from the response were deleted. */
function patchRows(
  rows: Rows | undefined,
  names: readonly JobKey[],
  freshRows: readonly JobStatusRow[],
): Rows | undefined {
  if (rows === undefined) return undefined
  const requested = new Set(names.map(keyText))
  const byKey = new Map(freshRows.map((row) => [keyText(rowKey(row)), row]))
  const pages = rows.pages.map((page) => ({
    ...page,
    items: page.items.flatMap((row) => {
      const key = keyText(rowKey(row))
      return requested.has(key) ? (byKey.get(key) ?? []) : [row]
    }),
  }))
  return { ...rows, pages }
}
