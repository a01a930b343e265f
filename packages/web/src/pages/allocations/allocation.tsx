import { useState } from 'react'
import type { Allocation } from '@reeve/contract'
import { ActionButton } from '../../components/action-button.tsx'
import { allocationDisabledReason, runningTasks } from '../../permissions/allocation.ts'
import { CliAndApiPanel, CopyButton } from '../../components/command-line.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { Field, FormDialog } from '../../components/form.tsx'
import { PageHeader, Tabs } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { ALLOCATION_TABS, paths, type AllocationTab } from '../../paths.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import type { AclPermissions } from '../../session/acl-permissions.ts'
import { useSession } from '../../session/session.tsx'
import { NotFound } from '../../components/notices.tsx'
import { useApiAction } from '../../data/api-action.ts'
import '../../style/jobs.css'
import '../../style/cluster.css'
import { HealthBadge } from './allocation-columns.tsx'
import type { AllocationView } from './allocation-view.tsx'
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
          <CopyButton text={ID} what="the ID of the allocation" />
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

/** Buttons to signal, restart and stop the allocation. */
function AllocationActions({ allocation }: { readonly allocation: Allocation }) {
  const { permissions } = useSession()
  const [isSignaling, setSignaling] = useState(false)
  const actions = useAllocationActions(allocation)
  return (
    <>
      <ActionButton
        disabledReason={allocationDisabledReason.signal(allocation, permissions)}
        onAction={() => setSignaling(true)}
      >
        Signal…
      </ActionButton>
      <ActionButton
        disabledReason={allocationDisabledReason.restart(allocation, permissions)}
        onAction={actions.restart}
      >
        Restart…
      </ActionButton>
      <ActionButton
        kind="danger"
        disabledReason={allocationDisabledReason.stop(allocation, permissions)}
        onAction={actions.stop}
      >
        Stop…
      </ActionButton>
      {isSignaling && <SignalForm allocation={allocation} onClose={() => setSignaling(false)} />}
    </>
  )
}

function useAllocationActions({ ID, Name, Namespace: namespace }: Allocation) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const params = { alloc_id: ID }
  const query = { namespace }
  return {
    restart: async () => {
      const title = `Restart ${Name}?`
      const body = 'Its running tasks are restarted on the same node.'
      if (!(await confirm({ title, body, action: 'Restart the tasks' }))) return
      await callApi({
        call: (api) => api.v1.restartAllocation({ params, query, body: {} }),
        successMessage: 'The tasks are restarting.',
      })
    },
    stop: async () => {
      const title = `Stop ${Name}?`
      const body = 'The scheduler places a replacement, possibly on another node.'
      const action = 'Stop the allocation'
      if (!(await confirm({ title, body, action, isDangerous: true }))) return
      await callApi({
        call: (api) => api.v1.stopAllocation({ params, query }),
        successMessage: 'The allocation is stopping and will be replaced.',
      })
    },
  }
}

/** Suggested signals; any other one can be typed. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT'] as const

interface SignalFormProps {
  readonly allocation: Allocation
  readonly onClose: () => void
}

function SignalForm({ allocation, onClose }: SignalFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [signal, setSignal] = useState<string>('SIGHUP')
  const [task, setTask] = useState('')
  const send = async () => {
    const result = await callApi({
      call: (api) =>
        api.v1.signalAllocation({
          params: { alloc_id: allocation.ID },
          query: { namespace: allocation.Namespace },
          body: { Signal: signal, Task: task },
        }),
      successMessage: `${signal} was sent.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={`Send a signal to ${allocation.Name}`}
      action="Send"
      disabledReason={
        allocationDisabledReason.signal(allocation, permissions) ??
        (signal.trim() === '' ? 'Enter a signal.' : undefined)
      }
      onSubmit={send}
      onClose={onClose}
    >
      <Field label="Signal">
        {(attributes) => (
          <>
            <input
              {...attributes}
              list="signals"
              value={signal}
              onChange={(event) => setSignal(event.target.value)}
            />
            <datalist id="signals">
              {SIGNALS.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field label="Task">
        {(attributes) => (
          <select {...attributes} value={task} onChange={(event) => setTask(event.target.value)}>
            <option value="">All running tasks</option>
            {runningTasks(allocation).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
    </FormDialog>
  )
}
