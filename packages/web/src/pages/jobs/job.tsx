import { originText, type Job, type JobHealth } from '@reeve/contract'
import { jobDisabledReason } from '../../actions/job-can.ts'
import type { DisabledReason } from '../../actions/verdict.ts'
import { RelativeTime } from '../../parts/ago.tsx'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { quoteShellArg } from '../../parts/curl-line.ts'
import { PageHeader } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { JOB_TABS, paths, type JobName, type JobTab } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import { NotFound } from '../../shell/not-found.tsx'
import '../../style/jobs.css'
import { hasAllocationList } from './allocation-counts.ts'
import { PurgedJob } from './gone-job.tsx'
import { JobActions } from './job-actions.tsx'
import { useJob, useJobHealth, useJobStatus } from './job-data.ts'
import { isEditing, type JobView } from './job-view.ts'
import { AllocationsTab } from './tab-allocations.tsx'
import { DefinitionTab } from './tab-definition.tsx'
import { DeploymentsTab } from './tab-deployments.tsx'
import { EvaluationsTab } from './tab-evaluations.tsx'
import { ExplainTab } from './tab-explain.tsx'
import { LogsTab } from './tab-logs.tsx'
import { OverviewTab } from './tab-overview.tsx'
import { PolicyDecisionsTab } from './tab-verdicts.tsx'
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
