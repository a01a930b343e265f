import { Suspense, useState } from 'react'
import { originText, type Job, type JobHealth } from '@reeve/contract'
import { fetchLastSubmission } from '@reeve/sdk'
import { isParameterized, jobDisabledReason } from '../../permissions/job.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { lazyComponent } from '../../components/lazy.tsx'
import { PageHeader, Panel, Tabs } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { JOB_TABS, paths, type JobName, type JobTab } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import { NotFound } from '../../components/notices.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { useCursorList } from '../../data/lists.ts'
import { navigate } from '../../routing/location.ts'
import type { Api } from '../../session/api.ts'
import '../../style/jobs.css'
import { hasAllocationList } from './allocation-counts.ts'
import { newestFirst } from './scheduling.ts'
import {
  isEditing,
  type JobView,
  useJob,
  useJobEvaluations,
  useJobHealth,
  useJobStatus,
} from './job-data.ts'
import {
  AllocationsTab,
  DeploymentsTab,
  EvaluationsTab,
  PolicyDecisionsTab,
} from './job-records.tsx'
import { DefinitionTab } from './tab-definition.tsx'
import { ExplainTab } from './tab-explain.tsx'
import { LogsTab } from './tab-logs.tsx'
import { OverviewTab } from './tab-overview.tsx'
import { VersionsTab } from './tab-versions.tsx'

export function JobOverviewPage({ params, search }: PageProps<'/jobs/:jobId'>) {
  return <JobPage jobId={params.jobId} tab="overview" search={search} />
}

export function JobTabPage({ params, search }: PageProps<'/jobs/:jobId/:tab'>) {
  const tab = JOB_TABS.find((one) => one === params.tab)
  if (tab === undefined) return <NotFound path={`…/${params.tab}`} />
  return <JobPage jobId={params.jobId} tab={tab} search={search} />
}

interface JobPageProps {
  readonly jobId: string
  readonly tab: JobTab
  readonly search: URLSearchParams
}

function JobPage({ jobId, tab, search }: JobPageProps) {
  const name: JobName = { namespace: search.get('namespace') ?? 'default', id: jobId }
  const { permissions } = useSession()
  const job = useJob(name)
  return (
    <QueryView
      query={job}
      what="the job"
      hasUnsavedInput={isEditing(search)}
      page={{ title: jobId, crumbs: [{ text: 'Jobs', href: paths.jobs() }] }}
      notFoundContent={<PurgedJob name={name} />}
    >
      {(data) => (
        <>
          <JobHead job={data} name={name} />
          <Tabs
            label="Parts of the job"
            current={tab}
            tabs={jobTabs(name, jobDisabledReason.readLogs(data, permissions))}
          />
          <JobTabView tab={tab} view={{ job: data, name, search }} />
          <CliAndApiPanel {...COMMANDS[tab](name)} />
        </>
      )}
    </QueryView>
  )
}

function JobHead({ job, name }: { readonly job: Job; readonly name: JobName }) {
  // The overview reads the same for a listed job: equal keys are one request.
  const isAllocationListShown = hasAllocationList(job)
  const listed = useJobStatus(name, isAllocationListShown)
  const counted = useJobHealth(name, !isAllocationListShown)
  const { data: rows } = isAllocationListShown ? listed : counted
  const health = rows?.find(({ ID }) => ID === name.id)?.Health
  const { ParentID: parent, Namespace: namespace } = job
  return (
    <PageHeader
      title={job.Name}
      crumbs={[
        { text: 'Jobs', href: paths.jobs() },
        ...(parent === '' ? [] : [{ text: parent, href: paths.job({ namespace, id: parent }) }]),
      ]}
      aside={
        <>
          <StatusBadge state={displayStatus(job, health)} title={job.StatusDescription} />
          <span className="tag">{job.Type}</span>
          <span className="tag">namespace {job.Namespace}</span>
          <Link className="tag" href={paths.jobVersions(name, { version: job.Version })}>
            version {job.Version}
          </Link>
          <span className="quiet">
            {originText(job)} <RelativeTime date={dateFromNs(job.SubmitTime)} />
            {job.Message === undefined ? '' : ` “${job.Message}”`}
          </span>
        </>
      }
      actions={<JobActions job={job} />}
      lead={job.UI === null || job.UI.Description === '' ? undefined : job.UI.Description}
    />
  )
}

function displayStatus(job: Job, health: JobHealth | undefined): string {
  if (job.Quarantine !== undefined && !job.Stop) return 'quarantined'
  return health ?? job.Status
}

const TAB_TEXTS: Readonly<Record<JobTab, string>> = {
  overview: 'Overview',
  definition: 'Definition',
  versions: 'Versions',
  deployments: 'Deployments',
  allocations: 'Allocations',
  evaluations: 'Evaluations',
  verdicts: 'Policy decisions',
  logs: 'Logs',
  explain: 'Explain',
}

function jobTabs(name: JobName, logsDisabledReason: DisabledReason) {
  return JOB_TABS.map((id) => ({
    id,
    text: TAB_TEXTS[id],
    href: paths.job(name, id),
    disabledReason: id === 'logs' ? logsDisabledReason : undefined,
  }))
}

function JobTabView({ tab, view }: { readonly tab: JobTab; readonly view: JobView }) {
  switch (tab) {
    case 'overview':
      return <OverviewTab {...view} />
    case 'definition':
      return <DefinitionTab {...view} />
    case 'versions':
      return <VersionsTab {...view} />
    case 'deployments':
      return <DeploymentsTab {...view} />
    case 'allocations':
      return <AllocationsTab {...view} />
    case 'evaluations':
      return <EvaluationsTab {...view} />
    case 'verdicts':
      return <PolicyDecisionsTab {...view} />
    case 'logs':
      return <LogsTab {...view} />
    case 'explain':
      return <ExplainTab {...view} />
  }
}

function jobCommand(command: string, apiPath: string) {
  return ({ namespace, id }: JobName) => ({
    cli: `reeve job ${command} --namespace ${quoteShellArg(namespace)} ${quoteShellArg(id)}`,
    call: { path: `/v1/job/${encodeURIComponent(id)}${apiPath}`, query: { namespace } },
  })
}

const COMMANDS = {
  overview: jobCommand('status', ''),
  definition: jobCommand('inspect', ''),
  versions: jobCommand('history', '/versions'),
  deployments: jobCommand('deployments', '/deployments'),
  allocations: jobCommand('allocs', '/allocations'),
  evaluations: jobCommand('status', '/evaluations'),
  verdicts: jobCommand('verdicts', '/verdicts'),
  logs: jobCommand('logs', '/logs'),
  explain: jobCommand('explain', '/explain'),
} as const

const DispatchForm = lazyComponent(async () => (await import('./dispatch-form.tsx')).DispatchForm)

/** Buttons to dispatch, launch, evaluate, start, stop and purge the job. */
function JobActions({ job }: { readonly job: Job }) {
  const { permissions } = useSession()
  const [isDispatching, setDispatching] = useState(false)
  const actions = useJobActions(job)
  return (
    <>
      {isParameterized(job) && (
        <ActionButton
          kind="primary"
          disabledReason={jobDisabledReason.dispatch(job, permissions)}
          onAction={() => setDispatching(true)}
        >
          Dispatch…
        </ActionButton>
      )}
      {job.Periodic !== null && (
        <ActionButton
          disabledReason={jobDisabledReason.forcePeriodic(job, permissions)}
          onAction={actions.force}
        >
          Launch now
        </ActionButton>
      )}
      <ActionButton
        disabledReason={jobDisabledReason.evaluate(job, permissions)}
        onAction={actions.evaluate}
      >
        Evaluate
      </ActionButton>
      {job.Stop ? (
        <>
          <ActionButton
            kind="primary"
            disabledReason={jobDisabledReason.start(job, permissions)}
            onAction={actions.start}
          >
            Start
          </ActionButton>
          <ActionButton
            kind="danger"
            disabledReason={jobDisabledReason.purge(job, permissions)}
            onAction={actions.purge}
          >
            Purge…
          </ActionButton>
        </>
      ) : (
        <ActionButton
          kind="danger"
          disabledReason={jobDisabledReason.stop(job, permissions)}
          onAction={actions.stop}
        >
          Stop…
        </ActionButton>
      )}
      {isDispatching && (
        <Suspense>
          <DispatchForm job={job} onClose={() => setDispatching(false)} />
        </Suspense>
      )}
    </>
  )
}

function useJobActions(job: Job) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const params = { job_id: job.ID }
  const query = { namespace: job.Namespace }
  return {
    force: async () => {
      await callApi({
        call: (api) => api.v1.forcePeriodicJob({ params, query }),
        successMessage: 'A child job is launched.',
      })
    },
    evaluate: async () => {
      await callApi({
        call: (api) => api.v1.evaluateJob({ params, query, body: { JobID: job.ID } }),
        successMessage: 'Evaluation created.',
      })
    },
    start: async () => {
      await callApi({
        call: (api) => startJob(api, job),
        successMessage: 'The job is starting.',
      })
    },
    stop: async () => {
      const title = `Stop ${job.Name}?`
      const body = 'All its allocations are stopped. It can be started again.'
      if (!(await confirm({ title, body, action: 'Stop the job', isDangerous: true }))) return
      await callApi({
        call: (api) => api.v1.stopJob({ params, query }),
        successMessage: 'The job is stopping.',
      })
    },
    purge: async () => {
      const title = `Purge ${job.Name}?`
      const body = 'The job and its versions are deleted. This cannot be undone.'
      if (!(await confirm({ title, body, action: 'Purge the job', isDangerous: true }))) return
      const result = await callApi({
        call: (api) => api.v1.stopJob({ params, query: { ...query, purge: true } }),
        successMessage: 'The job is purged.',
      })
      if (result !== undefined) navigate(paths.jobs({ namespace: job.Namespace }))
    },
  }
}

/** Registers a stopped job unchanged, with its original text. */
async function startJob(api: Pick<Api, 'v1'>, job: Job) {
  return await api.v1.updateJob({
    params: { job_id: job.ID },
    query: { namespace: job.Namespace },
    body: { Job: { ...job, Stop: false }, Submission: await fetchLastSubmission(api, job) },
  })
}

/** Maximum number of listed evaluations, and of listed decisions. */
const RECORDS_SHOWN_MAX = 5

/** Remaining records of a job that was purged or denied before its registration. */
function PurgedJob({ name }: { readonly name: JobName }) {
  const { namespace, id } = name
  const verdicts = useCursorList(['job-verdicts', namespace, id], ({ api, signal, pageQuery }) =>
    api.v1.listJobVerdicts({
      params: { job_id: id },
      query: { ...pageQuery, namespace, reverse: true },
      signal,
    }),
  )
  const { data: evaluations = [] } = useJobEvaluations(name)
  if (verdicts.items.length === 0 && evaluations.length === 0) return null
  const latest = evaluations.toSorted(newestFirst)
  return (
    <Panel title="Remaining records">
      <ul className="reasons">
        {latest.slice(0, RECORDS_SHOWN_MAX).map(({ ID, Status, TriggeredBy, ModifyTime }) => (
          <li key={ID}>
            <Link href={paths.evaluation(ID)}>Evaluation {ID.slice(0, 8)}</Link>{' '}
            <StatusBadge state={Status} /> {TriggeredBy}{' '}
            <RelativeTime date={dateFromNs(ModifyTime)} />
          </li>
        ))}
        {verdicts.items.slice(0, RECORDS_SHOWN_MAX).map(({ ID, Result, Operation, Time }) => (
          <li key={ID}>
            <Link href={paths.verdict(namespace, ID)}>Policy decision {ID.slice(0, 8)}</Link>{' '}
            <StatusBadge state={Result} /> {Operation} <RelativeTime date={dateFromNs(Time)} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
