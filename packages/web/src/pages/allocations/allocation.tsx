import type { Allocation } from '@reeve/contract'
import { allocationDisabledReason } from '../../actions/allocation-can.ts'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { PageHeader } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { ALLOCATION_TABS, paths, type AllocationTab } from '../../paths.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import type { AclPermissions } from '../../session/rights.ts'
import { useSession } from '../../session/session.tsx'
import { NotFound } from '../../shell/not-found.tsx'
import '../../style/jobs.css'
import '../../style/cluster.css'
import { AllocationActions } from './allocation-actions.tsx'
import { HealthBadge } from './allocation-columns.tsx'
import type { AllocationView } from './allocation-view.ts'
import { FilesTab } from './tab-files.tsx'
import { LogsTab } from './tab-logs.tsx'
import { OverviewTab } from './tab-overview.tsx'
import { TerminalTab } from './tab-terminal.tsx'
import { UsageTab } from './tab-usage.tsx'

export function AllocationOverviewPage({ params, search }: PageProps<'/allocations/:allocId'>) {
  return <AllocationPage id={params.allocId} tab="overview" search={search} />
}

export function AllocationTabPage({ params, search }: PageProps<'/allocations/:allocId/:tab'>) {
  const tab = ALLOCATION_TABS.find((one) => one === params.tab)
  if (tab === undefined) return <NotFound path={`…/${params.tab}`} />
  return <AllocationPage id={params.allocId} tab={tab} search={search} />
}

interface AllocationPageProps {
  readonly id: string
  readonly tab: AllocationTab
  readonly search: URLSearchParams
}

function AllocationPage({ id, tab, search }: AllocationPageProps) {
  const { permissions } = useSession()
  const query = useApiQuery(
    ['allocation', id],
    (api, signal) => api.v1.readAllocation({ params: { alloc_id: id }, signal }),
    { watches: [{ topic: 'Allocation', key: id }] },
  )
  return (
    <QueryView
      query={query}
      what="the allocation"
      page={{
        title: `Allocation ${id.slice(0, 8)}`,
        crumbs: [{ text: 'Allocations', href: paths.allocations() }],
      }}
    >
      {(allocation) => (
        <>
          <AllocationHead allocation={allocation} />
          <Tabs
            label="Parts of the allocation"
            current={tab}
            tabs={allocationTabs(allocation, permissions)}
          />
          <TabView tab={tab} view={{ allocation, search }} />
          <CliAndApiPanel {...COMMANDS[tab](id, search)} />
        </>
      )}
    </QueryView>
  )
}

function AllocationHead({ allocation }: { readonly allocation: Allocation }) {
  const { ID, Name, Namespace: namespace, JobID } = allocation
  return (
    <PageHeader
      title={Name}
      crumbs={[
        { text: 'Allocations', href: paths.allocations({ namespace }) },
        { text: JobID, href: paths.job({ namespace, id: JobID }) },
      ]}
      aside={
        <>
          <HealthBadge allocation={allocation} />
          <span className="tag mono">{ID.slice(0, 8)}</span>
          <CopyButton text={ID} what="the id of the allocation" />
          <span className="tag">namespace {namespace}</span>
        </>
      }
      actions={<AllocationActions allocation={allocation} />}
      lead={<Replacement allocation={allocation} />}
    />
  )
}

/** Links to the previous and the next allocation. */
function Replacement({ allocation }: { readonly allocation: Allocation }) {
  const { ClientDescription, PreviousAllocation, NextAllocation } = allocation
  const { PreemptedByAllocation } = allocation
  return (
    <>
      {withFullStop(ClientDescription)}{' '}
      <RelatedAllocation id={PreviousAllocation} label="Replaces" />
      <RelatedAllocation id={NextAllocation} label="Replaced by" />
      <RelatedAllocation id={PreemptedByAllocation} label="Preempted by" />
    </>
  )
}

/** Adds a missing full stop to a text of the agent. */
function withFullStop(text: string): string {
  return text === '' || text.endsWith('.') ? text : `${text}.`
}

function RelatedAllocation({ id, label }: { readonly id: string; readonly label: string }) {
  if (id === '') return null
  return (
    <span>
      {label} <Link href={paths.allocation(id)}>{id.slice(0, 8)}</Link>.{' '}
    </span>
  )
}

const TAB_TEXTS: Readonly<Record<AllocationTab, string>> = {
  overview: 'Overview',
  logs: 'Logs',
  files: 'Files',
  usage: 'Usage',
  terminal: 'Terminal',
}

/** Why a tab is disabled, shown before it is opened. */
const TAB_DISABLED_REASON: Readonly<
  Partial<Record<AllocationTab, typeof allocationDisabledReason.readLogs>>
> = {
  logs: allocationDisabledReason.readLogs,
  files: allocationDisabledReason.readFiles,
  terminal: allocationDisabledReason.exec,
}

function allocationTabs(allocation: Allocation, permissions: AclPermissions) {
  return ALLOCATION_TABS.map((tab) => ({
    id: tab,
    text: TAB_TEXTS[tab],
    href: paths.allocation(allocation.ID, tab),
    disabledReason: TAB_DISABLED_REASON[tab]?.(allocation, permissions),
  }))
}

function TabView({ tab, view }: { readonly tab: AllocationTab; readonly view: AllocationView }) {
  switch (tab) {
    case 'overview':
      return <OverviewTab {...view} />
    case 'logs':
      return <LogsTab {...view} />
    case 'files':
      return <FilesTab {...view} />
    case 'usage':
      return <UsageTab {...view} />
    case 'terminal':
      return <TerminalTab {...view} />
  }
}

/** CLI & API, by tab. */
const COMMANDS = {
  overview: (id: string) => ({
    cli: `reeve alloc status ${id}`,
    call: { path: `/v1/allocation/${id}` },
  }),
  logs: (id: string, search: URLSearchParams) => ({
    cli: `reeve alloc logs --follow ${id} ${search.get('task') ?? ''}`.trim(),
    call: {
      path: `/v1/client/fs/logs/${id}`,
      query: {
        task: search.get('task') ?? '<task>',
        type: search.get('type') ?? 'stdout',
        follow: true,
        plain: true,
      },
    },
  }),
  files: (id: string, search: URLSearchParams) => ({
    cli: `reeve alloc fs ${id} ${search.get('path') ?? '/'}`,
    call: { path: `/v1/client/fs/ls/${id}`, query: { path: search.get('path') ?? '/' } },
  }),
  usage: (id: string) => ({
    cli: `reeve alloc stats ${id}`,
    call: { path: `/v1/client/allocation/${id}/stats` },
  }),
  terminal: (id: string) => ({
    cli: `reeve alloc exec -it ${id} /bin/sh`,
    call: { path: `/v1/client/allocation/${id}/exec`, query: { command: '["/bin/sh"]' } },
  }),
} as const
