import { checksText, type ServiceRegistration } from '@reeve/contract'
import { accessCan } from '../../actions/access-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
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
          <StateBadge
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
  { id: 'do', head: 'Do', width: '112px', cell: (one) => <Remove registration={one} /> },
]

/** The instances of one service. */
export function ServicePage({ params, search }: PageProps<'/services/:serviceName'>) {
  const name = params.serviceName
  const namespace = search.get('namespace') ?? 'default'
  const instances = useRead(
    ['service', namespace, name],
    (api, signal) =>
      api.v1.readService({ params: { service_name: name }, query: { namespace }, signal }),
    { watches: [{ topic: 'Service', namespace }] },
  )
  return (
    <>
      <PageHead
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
              <EmptyState title="No instance is registered" command={`reeve service info ${name}`}>
                <p>They come when tasks of the service start and go when they end.</p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <CommandLine
        cli={`reeve service info --namespace ${quoted(namespace)} ${quoted(name)}`}
        call={{ path: `/v1/service/${encodeURIComponent(name)}`, query: { namespace } }}
      />
    </>
  )
}

function Remove({ registration }: { readonly registration: ServiceRegistration }) {
  const { rights } = useSession()
  const act = useAct()
  const confirm = useConfirm()
  const { ID, ServiceName, Namespace: namespace, Address, Port } = registration
  const remove = async () => {
    const title = `Remove ${Address}:${Port}?`
    const body = 'For an instance that is gone. One that still runs registers again.'
    if (!(await confirm({ title, body, action: 'Remove it', isDangerous: true }))) return
    await act({
      call: (api) =>
        api.v1.deleteServiceRegistration({
          params: { service_name: ServiceName, registration_id: ID },
          query: { namespace },
        }),
      done: 'The registration is removed.',
    })
  }
  return (
    <span className="row task-controls">
      <ActionButton refusal={accessCan.deleteRegistration(namespace, rights)} onAct={remove}>
        Remove…
      </ActionButton>
    </span>
  )
}
