import type { Namespace } from '@reeve/contract'
import { useState } from 'react'
import { accessDisabledReason } from '../../actions/access-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { PageHeader } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import { hrefWith, navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/cluster.css'
import { NamespaceForm } from './namespace-form.tsx'

/** The list of namespaces. */
export function NamespacesPage({ search }: PageProps<'/namespaces'>) {
  const { permissions } = useSession()
  const edited = search.get('edit')
  const edit = (name: string | undefined) => navigate(hrefWith({ edit: name }))
  // Polled, because namespaces have no events.
  const namespaces = useApiQuery(
    ['namespaces'],
    (api, signal) => api.v1.listNamespaces({ signal }),
    {
      pollIntervalMs: 30_000,
    },
  )
  const [isCreating, setCreating] = useState(false)
  const editedNamespace = namespaces.data?.find(({ Name }) => Name === edited)
  return (
    <>
      <PageHeader
        title="Namespaces"
        lead="Each has its own jobs, variables and access rules."
        actions={
          <ActionButton
            kind="primary"
            disabledReason={accessDisabledReason.writeNamespace(permissions)}
            onAction={() => setCreating(true)}
          >
            New namespace…
          </ActionButton>
        }
      />
      <QueryView query={namespaces} what="the namespaces">
        {(list) => (
          <DataTable
            label="Namespaces"
            columns={columnsOf(({ Name }) => edit(Name))}
            rows={list}
            keyOf={({ Name }) => Name}
            hrefOf={({ Name }) => paths.jobs({ namespace: Name })}
            empty={
              <EmptyState title="No namespaces" command={FIRST_COMMANDS.namespaces}>
                <p>Only namespaces in which the token has a capability are listed.</p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <CliAndApiPanel cli="reeve namespace list" call={{ path: '/v1/namespaces' }} />
      {isCreating && <NamespaceForm namespace={undefined} onClose={() => setCreating(false)} />}
      {editedNamespace !== undefined && (
        <NamespaceForm
          key={editedNamespace.Name}
          namespace={editedNamespace}
          onClose={() => edit(undefined)}
        />
      )}
    </>
  )
}

function columnsOf(edit: (namespace: Namespace) => void): readonly Column<Namespace>[] {
  return [
    { id: 'name', head: 'Namespace', width: '28%', cell: ({ Name }) => Name },
    {
      id: 'description',
      head: 'Description',
      isExtra: true,
      cell: ({ Description }) => Description || '–',
    },
    {
      id: 'drivers',
      head: 'Drivers',
      width: '18%',
      isExtra: true,
      cell: ({ Capabilities }) => Capabilities?.EnabledTaskDrivers?.join(', ') || 'any',
    },
    {
      id: 'pools',
      head: 'Node pool',
      width: '14%',
      isExtra: true,
      cell: ({ NodePoolConfiguration }) => NodePoolConfiguration?.Default || 'default',
    },
    {
      id: 'do',
      head: 'Actions',
      width: '188px',
      cell: (namespace) => <Controls namespace={namespace} onEdit={() => edit(namespace)} />,
    },
  ]
}

interface ControlsProps {
  readonly namespace: Namespace
  readonly onEdit: () => void
}

function Controls({ namespace, onEdit }: ControlsProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const { Name } = namespace
  const remove = async () => {
    const title = `Delete ${Name}?`
    const body = 'Only namespaces without running jobs and variables can be deleted.'
    if (!(await confirm({ title, body, action: 'Delete it', isDangerous: true }))) return
    await callApi({
      call: (api) => api.v1.deleteNamespace({ params: { namespace_name: Name } }),
      successMessage: `${Name} is deleted.`,
    })
  }
  return (
    <span className="row task-controls">
      <ActionButton
        disabledReason={accessDisabledReason.writeNamespace(permissions)}
        onAction={onEdit}
      >
        Edit…<span className="hidden"> {Name}</span>
      </ActionButton>
      <ActionButton
        kind="danger"
        disabledReason={accessDisabledReason.deleteNamespace(Name, permissions)}
        onAction={remove}
      >
        Delete…<span className="hidden"> {Name}</span>
      </ActionButton>
    </span>
  )
}
