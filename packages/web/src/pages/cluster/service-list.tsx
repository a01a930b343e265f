import { useApiQuery } from '../../data/api-query.ts'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { PageHeader } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'

interface ServiceRow {
  readonly namespace: string
  readonly name: string
  readonly tags: readonly string[]
  readonly instances: number
  readonly failing: number
}

const COLUMNS: readonly Column<ServiceRow>[] = [
  { id: 'name', head: 'Service', cell: ({ name }) => name },
  {
    id: 'instances',
    head: 'Instances',
    width: '160px',
    cell: ({ instances, failing }) =>
      failing > 0 ? (
        <StatusBadge state="unhealthy" text={`${failing} of ${instances} failing`} />
      ) : (
        instances
      ),
  },
  { id: 'tags', head: 'Tags', width: '30%', cell: ({ tags }) => tags.join(', ') || '–' },
  {
    id: 'namespace',
    head: 'Namespace',
    width: '160px',
    isExtra: true,
    cell: ({ namespace }) => namespace,
  },
]

/** The list of services. */
export function ServiceListPage({ search }: PageProps<'/services'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const services = useApiQuery(
    ['services', namespace],
    (api, signal) => api.v1.listServices({ query: { namespace }, signal }),
    { watches: [{ topic: 'Service', namespace }] },
  )
  return (
    <>
      <PageHeader title="Services" lead="Names under which tasks are reached." />
      <QueryView query={services} what="the services">
        {(lists) => (
          <DataTable
            label="Services"
            columns={COLUMNS}
            rows={lists.flatMap((list) =>
              list.Services.map(({ ServiceName, Tags, Instances, Failing }) => ({
                namespace: list.Namespace,
                name: ServiceName,
                tags: Tags,
                instances: Instances,
                failing: Failing,
              })),
            )}
            keyOf={(row) => `${row.namespace}/${row.name}`}
            hrefOf={(row) => paths.service({ namespace: row.namespace, id: row.name })}
            empty={
              <EmptyState title="No services" command="reeve service list">
                <p>
                  A group or task with a <code>service</code> block is registered here with its
                  address and port while it runs.
                </p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <CliAndApiPanel
        cli={`reeve service list --namespace ${quoteShellArg(namespace)}`}
        call={{ path: '/v1/services', query: { namespace } }}
      />
    </>
  )
}
