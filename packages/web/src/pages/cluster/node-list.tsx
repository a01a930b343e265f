import { useCursorList } from '../../data/lists.ts'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { nodeCommand } from '../../commands.ts'
import { PageHeader } from '../../components/page.tsx'
import { PagedTable } from '../../components/data-table.tsx'
import { SearchField, StatusSelect } from '../../components/filters.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import '../../style/cluster.css'
import { nodeColumns } from './node-columns.tsx'
import { NODE_STATES, nodeFilter } from './node-state.ts'

/** The list of nodes. */
export function NodeListPage({ search }: PageProps<'/nodes'>) {
  const state = NODE_STATES.find((one) => one === search.get('state'))
  const filter = nodeFilter(search.get('q') ?? '', state)
  const list = useCursorList(
    ['nodes', filter ?? ''],
    ({ api, signal, pageQuery }) => api.v1.listNodes({ query: { ...pageQuery, filter }, signal }),
    { watches: [{ topic: 'Node' }] },
  )
  return (
    <>
      <PageHeader
        title="Nodes"
        actions={
          <Link className="button" href={paths.topology()}>
            Topology
          </Link>
        }
      />
      <search className="filters">
        <SearchField label="Name or expression" value={search.get('q') ?? ''} />
        <StatusSelect name="state" label="State" statuses={NODE_STATES} current={state} />
      </search>
      <PagedTable
        label="Nodes"
        what="the nodes"
        list={list}
        columns={nodeColumns}
        keyOf={({ ID }) => ID}
        hrefOf={({ ID }) => paths.node(ID)}
        empty={filter === undefined ? <NoNodes /> : <NoMatch />}
      />
      <CliAndApiPanel cli="reeve node status" call={{ path: '/v1/nodes', query: { filter } }} />
    </>
  )
}

function NoNodes() {
  return (
    <EmptyState title="No nodes yet" command={nodeCommand(window.location.origin)}>
      <p>
        A node is a machine whose agent runs allocations. Start an agent with the address of a
        server: it registers itself and appears here.
      </p>
    </EmptyState>
  )
}

function NoMatch() {
  return (
    <EmptyState title="No matching nodes">
      <p>
        Remove a filter. The field also takes expressions, such as{' '}
        <code>NodeClass == "gpu" and Datacenter != "dc2"</code>.
      </p>
    </EmptyState>
  )
}
