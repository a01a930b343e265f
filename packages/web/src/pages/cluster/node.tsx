import { useState } from 'react'
import type { AllocationStub, Node } from '@reeve/contract'
import { isEventOf } from '@reeve/sdk'
import { ActionButton } from '../../components/action-button.tsx'
import { useApiQuery } from '../../data/api-query.ts'
import { CliAndApiPanel, CopyButton } from '../../components/command-line.tsx'
import { PagedTable } from '../../components/data-table.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { SearchField } from '../../components/filters.tsx'
import { Field, FormDialog } from '../../components/form.tsx'
import { PageHeader, Panel, Tabs } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { NODE_TABS, paths, type NodeTab, ALL_NAMESPACES } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import { EmptyState, NotFound } from '../../components/notices.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { useLiveList } from '../../data/lists.ts'
import { nodeDisabledReason } from '../../permissions/cluster.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/jobs.css'
import '../../style/cluster.css'
import { allocationColumns } from '../allocations/allocation-columns.tsx'
import { NodeOverview } from './node-overview.tsx'
import { nodeState } from './node-state.ts'

export function NodeOverviewPage({ params, search }: PageProps<'/nodes/:nodeId'>) {
  return <NodePage id={params.nodeId} tab="overview" search={search} />
}

export function NodeTabPage({ params, search }: PageProps<'/nodes/:nodeId/:tab'>) {
  const tab = NODE_TABS.find((one) => one === params.tab)
  if (tab === undefined) return <NotFound path={`…/${params.tab}`} />
  return <NodePage id={params.nodeId} tab={tab} search={search} />
}

interface NodePageProps {
  readonly id: string
  readonly tab: NodeTab
  readonly search: URLSearchParams
}

function NodePage({ id, tab, search }: NodePageProps) {
  const query = useApiQuery(
    ['node', id],
    (api, signal) => api.v1.readNode({ params: { node_id: id }, signal }),
    { watches: [{ topic: 'Node', key: id }] },
  )
  return (
    <QueryView
      query={query}
      what="the node"
      page={{ title: `Node ${id.slice(0, 8)}`, crumbs: [{ text: 'Nodes', href: paths.nodes() }] }}
    >
      {(node) => (
        <>
          <NodeHead node={node} />
          <Tabs label="Parts of the node" current={tab} tabs={tabsOf(id)} />
          {tab === 'overview' && <NodeOverview node={node} />}
          {tab === 'allocations' && <NodeAllocations node={node} />}
          {tab === 'attributes' && (
            <NodeAttributes node={node} searchText={search.get('q') ?? ''} />
          )}
          <CliAndApiPanel
            cli={`reeve node status ${id}`}
            call={{ path: `/v1/node/${id}${tab === 'allocations' ? '/allocations' : ''}` }}
          />
        </>
      )}
    </QueryView>
  )
}

const TAB_TEXTS: Readonly<Record<NodeTab, string>> = {
  overview: 'Overview',
  allocations: 'Allocations',
  attributes: 'Attributes',
}

function tabsOf(id: string) {
  return NODE_TABS.map((tab) => ({ id: tab, text: TAB_TEXTS[tab], href: paths.node(id, tab) }))
}

function NodeHead({ node }: { readonly node: Node }) {
  const { Name, ID, NodePool, Datacenter, NodeClass, StatusDescription } = node
  return (
    <PageHeader
      title={Name}
      crumbs={[{ text: 'Nodes', href: paths.nodes() }]}
      aside={
        <>
          <StatusBadge state={nodeState(node)} title={StatusDescription} />
          <span className="tag mono">{ID.slice(0, 8)}</span>
          <CopyButton text={ID} what="the ID of the node" />
          <Link className="tag" href={paths.nodePool(NodePool)}>
            pool {NodePool}
          </Link>
          <span className="tag">{Datacenter}</span>
          {NodeClass !== '' && <span className="tag">class {NodeClass}</span>}
        </>
      }
      actions={<NodeActions node={node} />}
      lead={StatusDescription === '' ? undefined : StatusDescription}
    />
  )
}

/** Buttons to drain a node, change its eligibility and purge it. */
function NodeActions({ node }: { readonly node: Node }) {
  const { permissions } = useSession()
  const [isDraining, setDraining] = useState(false)
  const actions = useNodeActions(node)
  const isEligible = node.SchedulingEligibility === 'eligible'
  return (
    <>
      <ActionButton
        disabledReason={nodeDisabledReason.changeEligibility(node, permissions)}
        onAction={() => actions.setEligibility(isEligible ? 'ineligible' : 'eligible')}
      >
        {isEligible ? 'Mark ineligible' : 'Mark eligible'}
      </ActionButton>
      {node.Drain && (
        <ActionButton
          disabledReason={nodeDisabledReason.endDrain(node, permissions)}
          onAction={actions.endDrain}
        >
          Stop draining
        </ActionButton>
      )}
      <ActionButton
        kind="danger"
        disabledReason={nodeDisabledReason.drain(node, permissions)}
        onAction={() => setDraining(true)}
      >
        {node.Drain ? 'Change the drain…' : 'Drain…'}
      </ActionButton>
      {node.Status === 'down' && (
        <ActionButton
          kind="danger"
          disabledReason={nodeDisabledReason.purge(node, permissions)}
          onAction={actions.purge}
        >
          Purge…
        </ActionButton>
      )}
      {isDraining && <DrainForm node={node} onClose={() => setDraining(false)} />}
    </>
  )
}

function useNodeActions({ ID, Name }: Node) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const params = { node_id: ID }
  return {
    setEligibility: async (Eligibility: 'eligible' | 'ineligible') => {
      await callApi({
        call: (api) => api.v1.setNodeEligibility({ params, body: { Eligibility } }),
        successMessage:
          Eligibility === 'eligible'
            ? 'The node is eligible.'
            : 'The node is ineligible: it keeps its allocations and accepts no new ones.',
      })
    },
    endDrain: async () => {
      await callApi({
        call: (api) => api.v1.drainNode({ params, body: { DrainSpec: null, MarkEligible: true } }),
        successMessage: 'The drain is stopped and the node is eligible.',
      })
    },
    purge: async () => {
      const title = `Purge ${Name}?`
      const body = 'Its allocations are rescheduled. The agent may register again when it returns.'
      if (!(await confirm({ title, body, action: 'Purge the node', isDangerous: true }))) return
      const result = await callApi({
        call: (api) => api.v1.purgeNode({ params }),
        successMessage: 'The node is purged.',
      })
      if (result !== undefined) navigate(paths.nodes())
    },
  }
}

interface DrainFormProps {
  readonly node: Node
  readonly onClose: () => void
}

const NS_PER_MINUTE = 60e9

/** Deadlines of a drain: 0 means none, a negative value stops all allocations at once. */
const DEADLINES = [
  { id: 'now', text: 'Force: stop all allocations at once', ns: -1 },
  { id: '10m', text: '10 minutes', ns: 10 * NS_PER_MINUTE },
  { id: '1h', text: '1 hour', ns: 60 * NS_PER_MINUTE },
  { id: '6h', text: '6 hours', ns: 360 * NS_PER_MINUTE },
  { id: 'none', text: 'No deadline', ns: 0 },
] as const

/** The dialog to drain a node. */
function DrainForm({ node, onClose }: DrainFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [deadline, setDeadline] = useState('1h')
  const [ignoreSystemJobs, setIgnoreSystemJobs] = useState(false)
  const drain = async () => {
    const Deadline = DEADLINES.find(({ id }) => id === deadline)?.ns ?? 0
    const result = await callApi({
      call: (api) =>
        api.v1.drainNode({
          params: { node_id: node.ID },
          body: { DrainSpec: { Deadline, IgnoreSystemJobs: ignoreSystemJobs } },
        }),
      successMessage: 'The node is draining.',
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={`Drain ${node.Name}`}
      action="Drain the node"
      kind="danger"
      disabledReason={nodeDisabledReason.drain(node, permissions)}
      onSubmit={drain}
      onClose={onClose}
    >
      <p>
        The node becomes ineligible and its allocations migrate to other nodes. How many at a time
        is set in the <code>migrate</code> block of their jobs.
      </p>
      <Field label="Deadline" hint="Remaining allocations are stopped then.">
        {(attributes) => (
          <select
            {...attributes}
            value={deadline}
            onChange={(event) => setDeadline(event.target.value)}
          >
            {DEADLINES.map(({ id, text }) => (
              <option key={id} value={id}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      <label className="check">
        <input
          type="checkbox"
          checked={ignoreSystemJobs}
          onChange={(event) => setIgnoreSystemJobs(event.target.checked)}
        />
        Keep system jobs running
      </label>
    </FormDialog>
  )
}

/** The tab with the current and past allocations of the node. */
function NodeAllocations({ node }: { readonly node: Node }) {
  const filter = `NodeID == "${node.ID}"`
  const namespace = ALL_NAMESPACES
  const list = useLiveList<AllocationStub>(
    ['node-allocations', node.ID],
    ({ api, signal, pageQuery }) =>
      api.v1.listAllocations({
        query: { ...pageQuery, namespace, filter, reverse: true },
        signal,
      }),
    {
      watch: { topic: 'Allocation' },
      idOf: ({ ID }) => ID,
      itemOf: (event) => {
        const found = isEventOf(event, 'Allocation') ? event.Payload.Allocation : undefined
        return found?.NodeID === node.ID ? found : undefined
      },
    },
  )
  return (
    <PagedTable
      label="Allocations"
      what="the allocations"
      list={list}
      columns={allocationColumns.onNode}
      keyOf={({ ID }) => ID}
      hrefOf={({ ID }) => paths.allocation(ID)}
      empty={
        <EmptyState title="No allocations" command={`reeve node status ${node.ID}`}>
          <p>The scheduler places allocations on nodes that are ready and eligible.</p>
        </EmptyState>
      }
    />
  )
}

interface NodeAttributesProps {
  readonly node: Node
  /** The search text. */
  readonly searchText: string
}

/** The tab with attributes and metadata that constraints can refer to. */
function NodeAttributes({ node, searchText }: NodeAttributesProps) {
  return (
    <>
      <search className="filters">
        <SearchField label="Search in names and values" value={searchText} />
      </search>
      <AttributeList title="Meta" prefix="meta" values={node.Meta ?? {}} searchText={searchText} />
      <AttributeList
        title="Attributes"
        prefix="attr"
        values={node.Attributes}
        searchText={searchText}
      />
    </>
  )
}

interface AttributeListProps {
  readonly title: string
  /** The prefix of the name in a constraint: `attr` in `${attr.cpu.arch}`. */
  readonly prefix: string
  readonly values: Readonly<Record<string, string>>
  readonly searchText: string
}

function AttributeList({ title, prefix, values, searchText }: AttributeListProps) {
  const text = searchText.toLowerCase()
  const found = Object.entries(values)
    .filter(([name, value]) => `${name} ${value}`.toLowerCase().includes(text))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return (
    <Panel title={title} isFlush>
      {found.length === 0 ? (
        <p className="panel-body quiet">{text === '' ? 'None.' : 'No matches.'}</p>
      ) : (
        <dl className="values">
          {found.map(([name, value]) => (
            <div key={name}>
              <dt>
                <code>{`\${${prefix}.${name}}`}</code>
              </dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}
