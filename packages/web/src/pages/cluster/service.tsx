import { checksText, type ServiceRegistration } from '@reeve/contract'
import { accessDisabledReason } from '../../permissions/cluster.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { quoteShellArg } from '../../commands.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { PageHeader } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/cluster.css'

const COLUMNS: readonly Column<ServiceRegistration>[] = [
  {
    id: 'address',
    head: 'Address',
    cell: ({ Address, Port }) => (
      <code>
        {Address}:{Port}
      </code>
    ),
  },
  {
    id: 'allocation',
    head: 'Allocation',
    width: '112px',
    isExtra: true,
    cell: ({ AllocID }) => <Link href={paths.allocation(AllocID)}>{AllocID.slice(0, 8)}</Link>,
  },
  {
    id: 'job',
    head: 'Job',
    width: '14%',
    isExtra: true,
    cell: ({ Namespace: namespace, JobID }) => (
      <Link href={paths.job({ namespace, id: JobID })}>{JobID}</Link>
    ),
  },
  {
    id: 'node',
    head: 'Node',
    width: '112px',
    isExtra: true,
    cell: ({ NodeID }) => <Link href={paths.node(NodeID)}>{NodeID.slice(0, 8)}</Link>,
  },
  {
    id: 'checks',
    head: 'Checks',
    width: '18%',
    cell: ({ Checks }) =>
      Checks === undefined ? (
        '–'
      ) : (
        <>
          <StatusBadge
            state={Checks.Failing > 0 ? 'unhealthy' : Checks.Pending > 0 ? 'pending' : 'healthy'}
            text={checksText(Checks)}
          />{' '}
          {Checks.Output}
        </>
      ),
  },
  {
    id: 'tags',
    head: 'Tags',
    width: '14%',
    isExtra: true,
    cell: ({ Tags }) => (Tags ?? []).join(', ') || '–',
  },
  { id: 'do', head: 'Do', width: '112px', cell: (one) => <RemoveButton registration={one} /> },
]

/** A service and its instances. */
export function ServicePage({ params, search }: PageProps<'/services/:serviceName'>) {
  const name = params.serviceName
  const namespace = search.get('namespace') ?? 'default'
  const instances = useApiQuery(
    ['service', namespace, name],
    (api, signal) =>
      api.v1.readService({ params: { service_name: name }, query: { namespace }, signal }),
    { watches: [{ topic: 'Service', namespace }] },
  )
  return (
    <>
      <PageHeader
        title={name}
        crumbs={[{ text: 'Services', href: paths.services({ namespace }) }]}
        aside={<span className="tag">namespace {namespace}</span>}
      />
      <QueryView query={instances} what="the instances">
        {(list) => (
          <DataTable
            label="Instances"
            columns={COLUMNS}
            rows={list}
            keyOf={({ ID }) => ID}
            empty={
              <EmptyState title="No instances" command={`reeve service info ${name}`}>
                <p>Instances are registered while tasks of the service run.</p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <CliAndApiPanel
        cli={`reeve service info --namespace ${quoteShellArg(namespace)} ${quoteShellArg(name)}`}
        call={{ path: `/v1/service/${encodeURIComponent(name)}`, query: { namespace } }}
      />
    </>
  )
}

function RemoveButton({ registration }: { readonly registration: ServiceRegistration }) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const { ID, ServiceName, Namespace: namespace, Address, Port } = registration
  const remove = async () => {
    const title = `Remove ${Address}:${Port}?`
    const body = 'Only for stale instances: a running one registers again.'
    if (!(await confirm({ title, body, action: 'Remove it', isDangerous: true }))) return
    await callApi({
      call: (api) =>
        api.v1.deleteServiceRegistration({
          params: { service_name: ServiceName, registration_id: ID },
          query: { namespace },
        }),
      successMessage: 'The registration is removed.',
    })
  }
  return (
    <span className="row task-controls">
      <ActionButton
        disabledReason={accessDisabledReason.deleteRegistration(namespace, permissions)}
        onAction={remove}
      >
        Remove…
      </ActionButton>
    </span>
  )
}
