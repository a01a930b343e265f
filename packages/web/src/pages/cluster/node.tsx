import type { Node } from '@reeve/contract'
import { useApiQuery } from '../../data/use-read.ts'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { PageHeader } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { NODE_TABS, paths, type NodeTab } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import { NotFound } from '../../shell/not-found.tsx'
import '../../style/jobs.css'
import '../../style/cluster.css'
import { NodeActions } from './node-actions.tsx'
import { NodeAllocations } from './node-allocations.tsx'
import { NodeAttributes } from './node-attributes.tsx'
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
          <CopyButton text={ID} what="the id of the node" />
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
