import type { JobStub, NodePool } from '@reeve/contract'
import { useState } from 'react'
import { nodePoolDisabledReason } from '../../permissions/cluster.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useCursorList } from '../../data/lists.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { FIRST_COMMANDS, nodeCommand, quoteShellArg } from '../../commands.ts'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { DescriptionList, PageHeader, Panel, Tabs } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { ALL_NAMESPACES, NODE_POOL_TABS, paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/cluster.css'
import { nodeColumns } from './node-columns.tsx'
import { NodePoolForm } from './node-pool-form.tsx'

/** A node pool with its scheduler configuration, nodes and jobs. */
export function NodePoolPage({ params, search }: PageProps<'/node-pools/:poolName'>) {
  const name = params.poolName
  const tab = NODE_POOL_TABS.find((one) => one === search.get('tab')) ?? 'nodes'
  const pool = useApiQuery(
    ['node-pool', name],
    (api, signal) => api.v1.readNodePool({ params: { pool_name: name }, signal }),
    { watches: [{ topic: 'NodePool', key: name }] },
  )
  return (
    <QueryView
      query={pool}
      what="the node pool"
      page={{ title: name, crumbs: [{ text: 'Node pools', href: paths.nodePools() }] }}
    >
      {(data) => (
        <>
          <PageHeader
            title={data.Name}
            crumbs={[{ text: 'Node pools', href: paths.nodePools() }]}
            lead={data.Description === '' ? undefined : data.Description}
            actions={<PoolActions pool={data} />}
          />
          <Panel title="About">
            <DescriptionList facts={poolFacts(data)} />
          </Panel>
          <Tabs label="Parts of the node pool" current={tab} tabs={tabsOf(name)} />
          {tab === 'nodes' ? <PoolNodes pool={name} /> : <PoolJobs pool={name} />}
          <CliAndApiPanel
            cli={`reeve node pool ${tab} ${quoteShellArg(name)}`}
            call={{ path: `/v1/node/pool/${encodeURIComponent(name)}/${tab}` }}
          />
        </>
      )}
    </QueryView>
  )
}

const TAB_TEXTS = { nodes: 'Nodes', jobs: 'Jobs' } as const

function tabsOf(name: string) {
  return NODE_POOL_TABS.map((tab) => ({
    id: tab,
    text: TAB_TEXTS[tab],
    href: paths.nodePool(name, tab),
  }))
}

function poolFacts({ SchedulerConfiguration: own, Meta }: NodePool) {
  const allowsOversubscription = own?.MemoryOversubscriptionEnabled ?? null
  return [
    { name: 'Scheduler algorithm', value: own?.SchedulerAlgorithm || 'region default' },
    {
      name: 'Memory oversubscription',
      value:
        allowsOversubscription === null
          ? 'region default'
          : allowsOversubscription
            ? 'allowed'
            : 'not allowed',
    },
    ...Object.entries(Meta ?? {}).map(([name, value]) => ({ name: `Meta ${name}`, value })),
  ]
}

function PoolNodes({ pool }: { readonly pool: string }) {
  const list = useCursorList(
    ['node-pool-nodes', pool],
    ({ api, signal, pageQuery }) =>
      api.v1.listNodePoolNodes({ params: { pool_name: pool }, query: pageQuery, signal }),
    { watches: [{ topic: 'Node' }] },
  )
  return (
    <PagedTable
      label="Nodes"
      what="the nodes"
      list={list}
      columns={nodeColumns}
      keyOf={({ ID }) => ID}
      hrefOf={({ ID }) => paths.node(ID)}
      empty={
        <EmptyState title="No nodes" command={nodeCommand(window.location.origin)}>
          <p>
            The configuration of an agent assigns its node to a pool:{' '}
            <code>client {`{ node_pool = "${pool}" }`}</code>.
          </p>
        </EmptyState>
      }
    />
  )
}

const JOB_COLUMNS: readonly Column<JobStub>[] = [
  { id: 'name', head: 'Job', cell: ({ Name }) => Name },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: ({ Status }) => <StatusBadge state={Status} />,
  },
  { id: 'type', head: 'Type', width: '120px', isExtra: true, cell: ({ Type }) => Type },
  {
    id: 'namespace',
    head: 'Namespace',
    width: '20%',
    isExtra: true,
    cell: ({ Namespace }) => Namespace,
  },
  {
    id: 'priority',
    head: 'Priority',
    width: '88px',
    align: 'end',
    isExtra: true,
    cell: ({ Priority }) => Priority,
  },
]

function PoolJobs({ pool }: { readonly pool: string }) {
  const list = useCursorList(
    ['node-pool-jobs', pool],
    ({ api, signal, pageQuery }) =>
      api.v1.listNodePoolJobs({
        params: { pool_name: pool },
        query: { ...pageQuery, namespace: ALL_NAMESPACES },
        signal,
      }),
    { watches: [{ topic: 'Job' }] },
  )
  return (
    <PagedTable
      label="Jobs"
      what="the jobs"
      list={list}
      columns={JOB_COLUMNS}
      keyOf={({ Namespace, ID }) => `${Namespace}/${ID}`}
      hrefOf={({ Namespace, ID }) => paths.job({ namespace: Namespace, id: ID })}
      empty={
        <EmptyState title="No jobs" command={FIRST_COMMANDS.jobs}>
          <p>
            A job selects its pool with node_pool: <code>{`node_pool = "${pool}"`}</code>.
          </p>
        </EmptyState>
      }
    />
  )
}

function PoolActions({ pool }: { readonly pool: NodePool }) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const [isEditing, setEditing] = useState(false)
  const { Name } = pool
  const remove = async () => {
    const title = `Delete the node pool ${Name}?`
    const body = 'Only a pool without nodes and live jobs is deleted.'
    if (!(await confirm({ title, body, action: 'Delete the pool', isDangerous: true }))) return
    const result = await callApi({
      call: async (api) => {
        await api.v1.deleteNodePool({ params: { pool_name: Name } })
        return true
      },
      successMessage: `${Name} is deleted.`,
    })
    if (result !== undefined) navigate(paths.nodePools())
  }
  return (
    <>
      <ActionButton
        disabledReason={nodePoolDisabledReason.write(Name, permissions)}
        onAction={() => setEditing(true)}
      >
        Edit…
      </ActionButton>
      <ActionButton
        kind="danger"
        disabledReason={nodePoolDisabledReason.destroy(Name, permissions)}
        onAction={remove}
      >
        Delete…
      </ActionButton>
      {isEditing && <NodePoolForm pool={pool} onClose={() => setEditing(false)} />}
    </>
  )
}
