import type { Namespace } from '@reeve/contract'
import { useState } from 'react'
import { accessDisabledReason } from '../../permissions/cluster.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { FormDialog, TextField } from '../../components/form.tsx'
import { PageHeader } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths } from '../../paths.ts'
import { hrefWith, navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/cluster.css'
import {
  toNamespaceRequest,
  toNamespaceDraft,
  draftError,
  type NamespaceDraft,
} from './namespace-draft.ts'

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

interface NamespaceFormProps {
  /** The edited namespace; undefined to create one. */
  readonly namespace: Namespace | undefined
  readonly onClose: () => void
}

/** The text fields after the name. */
const FIELDS = [
  { of: 'description', label: 'Description' },
  { of: 'drivers', label: 'Allowed drivers', hint: 'Comma-separated; empty allows all.' },
  { of: 'deniedDrivers', label: 'Denied drivers', hint: 'That jobs may not use.' },
  { of: 'pool', label: 'Default node pool', hint: 'For jobs that name none.' },
  { of: 'pools', label: 'Allowed node pools', hint: 'Comma-separated; empty allows all.' },
  { of: 'deniedPools', label: 'Denied node pools', hint: 'Comma-separated.' },
] as const satisfies readonly {
  readonly of: keyof NamespaceDraft
  readonly label: string
  readonly hint?: string
}[]

/** The dialog to create or edit a namespace. */
function NamespaceForm({ namespace, onClose }: NamespaceFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [draft, setDraft] = useState(() => toNamespaceDraft(namespace))
  const save = async () => {
    const body = toNamespaceRequest(namespace, draft)
    const result = await callApi({
      call: async (api) => {
        await api.v1.writeNamespace({ body })
        return true
      },
      successMessage: `The namespace ${body.Name} is saved.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={namespace === undefined ? 'New namespace' : namespace.Name}
      action="Save"
      disabledReason={accessDisabledReason.writeNamespace(permissions) ?? draftError(draft)}
      onSubmit={save}
      onClose={onClose}
    >
      {namespace === undefined && (
        <TextField
          label="Name"
          value={draft.name}
          onChange={(name) => setDraft({ ...draft, name })}
          hint="Letters, digits and dashes."
        />
      )}
      {FIELDS.map(({ of, label, ...field }) => (
        <TextField
          key={of}
          label={label}
          isOptional
          value={draft[of]}
          onChange={(text) => setDraft({ ...draft, [of]: text })}
          {...field}
        />
      ))}
    </FormDialog>
  )
}
