import { DEPLOYMENT_STATUSES, type Deployment } from '@reeve/contract'
import { isEventOf } from '@reeve/sdk'
import { useLiveList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { FIRST_COMMANDS, quoteShellArg } from '../../commands.ts'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { isNewestFirst, OrderSelect, StatusSelect } from '../../components/filters.tsx'
import { PageHeader } from '../../components/page.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'

const COLUMNS: readonly Column<Deployment>[] = [
  { id: 'id', head: 'Deployment', width: '112px', cell: ({ ID }) => <code>{ID.slice(0, 8)}</code> },
  {
    id: 'job',
    head: 'Job',
    cell: ({ Namespace: namespace, JobID }) => (
      <Link href={paths.job({ namespace, id: JobID }, 'deployments')}>{JobID}</Link>
    ),
  },
  {
    id: 'status',
    head: 'Status',
    width: '128px',
    cell: ({ Status, StatusDescription }) => (
      <StatusBadge state={Status} title={StatusDescription} />
    ),
  },
  {
    id: 'healthy',
    head: 'Healthy',
    width: '96px',
    align: 'end',
    isExtra: true,
    cell: ({ TaskGroups }) => healthyText(TaskGroups),
  },
  {
    id: 'description',
    head: 'Description',
    width: '26%',
    isExtra: true,
    cell: ({ StatusDescription }) => StatusDescription,
  },
  {
    id: 'version',
    head: 'Version',
    width: '80px',
    align: 'end',
    isExtra: true,
    cell: ({ JobVersion }) => JobVersion,
  },
  {
    id: 'made',
    head: 'Updated',
    width: '104px',
    isExtra: true,
    cell: ({ ModifyTime }) => <RelativeTime date={dateFromNs(ModifyTime)} />,
  },
]

function healthyText(groups: Deployment['TaskGroups']): string {
  const all = Object.values(groups)
  const healthy = all.reduce((sum, { HealthyAllocs }) => sum + HealthyAllocs, 0)
  const desired = all.reduce((sum, { DesiredTotal }) => sum + DesiredTotal, 0)
  return `${healthy} of ${desired}`
}

/** The list of deployments. */
export function DeploymentListPage({ search }: PageProps<'/deployments'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const reverse = isNewestFirst(search)
  const status = DEPLOYMENT_STATUSES.find((one) => one === search.get('status'))
  const filter = status === undefined ? undefined : `Status == "${status}"`
  const list = useLiveList<Deployment>(
    ['deployments', namespace, filter ?? '', reverse],
    ({ api, signal, pageQuery }) =>
      api.v1.listDeployments({ query: { ...pageQuery, namespace, filter, reverse }, signal }),
    {
      watch: { topic: 'Deployment', namespace },
      idOf: ({ ID }) => ID,
      itemOf: (event) => (isEventOf(event, 'Deployment') ? event.Payload.Deployment : undefined),
    },
  )
  return (
    <>
      <PageHeader title="Deployments" lead="Rollouts of new job versions." />
      <search className="filters">
        <StatusSelect statuses={DEPLOYMENT_STATUSES} current={status} />
        <OrderSelect search={search} />
      </search>
      <PagedTable
        label="Deployments"
        what="the deployments"
        list={list}
        columns={COLUMNS}
        keyOf={({ ID }) => ID}
        hrefOf={({ ID }) => paths.deployment(ID)}
        empty={
          <EmptyState
            title={status === undefined ? 'No deployments' : `No deployment is ${status}`}
            command={FIRST_COMMANDS.deployments}
          >
            <p>
              A service with an <code>update</code> block is rolled out step by step: allocations
              are replaced a few at a time, and the next ones only when these are healthy. Each
              rollout is a deployment.
            </p>
          </EmptyState>
        }
      />
      <CliAndApiPanel
        cli={`reeve deployment list --namespace ${quoteShellArg(namespace)}`}
        call={{ path: '/v1/deployments', query: { namespace, filter, reverse } }}
      />
    </>
  )
}
