import type { AclRole } from '@reeve/contract'
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
import { useSession } from '../../session/session.tsx'
import '../../style/cluster.css'
import { AccessControlGuard } from './access-off.tsx'
import { RoleForm } from './role-form.tsx'

type Edited = AclRole | 'new' | undefined

/** The list of ACL roles. */
export function RoleListPage() {
  const { permissions } = useSession()
  const [edited, setEdited] = useState<Edited>()
  return (
    <>
      <PageHeader
        title="Roles"
        lead="Named sets of policies. Changing a role changes all its tokens."
        actions={
          <ActionButton
            kind="primary"
            disabledReason={accessDisabledReason.write(permissions)}
            onAction={() => setEdited('new')}
          >
            New role…
          </ActionButton>
        }
      />
      <AccessControlGuard>
        <Roles onEdit={setEdited} />
      </AccessControlGuard>
      <CliAndApiPanel cli="reeve acl role list" call={{ path: '/v1/acl/roles' }} />
      {edited !== undefined && (
        <RoleForm
          role={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
    </>
  )
}

function Roles({ onEdit }: { readonly onEdit: (role: AclRole) => void }) {
  const roles = useApiQuery(['roles'], (api, signal) => api.v1.listAclRoles({ signal }), {
    watches: [{ topic: 'ACLRole' }],
  })
  return (
    <QueryView query={roles} what="the roles">
      {(list) => (
        <DataTable
          label="Roles"
          columns={columnsOf(onEdit)}
          rows={list}
          keyOf={({ ID }) => ID}
          empty={
            <EmptyState title="No roles" command={FIRST_COMMANDS.aclRoles}>
              <p>A role groups policies, so that tokens can refer to the role.</p>
            </EmptyState>
          }
        />
      )}
    </QueryView>
  )
}

function columnsOf(edit: (role: AclRole) => void): readonly Column<AclRole>[] {
  return [
    { id: 'name', head: 'Role', width: '24%', cell: ({ Name }) => <b>{Name}</b> },
    {
      id: 'policies',
      head: 'Policies',
      cell: ({ Policies }) => Policies.map(({ Name }) => Name).join(', '),
    },
    {
      id: 'description',
      head: 'Description',
      width: '26%',
      isExtra: true,
      cell: ({ Description }) => Description || '–',
    },
    {
      id: 'do',
      head: 'Actions',
      width: '188px',
      cell: (role) => <Controls role={role} onEdit={() => edit(role)} />,
    },
  ]
}

interface ControlsProps {
  readonly role: AclRole
  readonly onEdit: () => void
}

function Controls({ role, onEdit }: ControlsProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const disabledReason = accessDisabledReason.write(permissions)
  const remove = async () => {
    const title = `Delete the role ${role.Name}?`
    const body = 'Tokens lose the permissions it grants.'
    if (!(await confirm({ title, body, action: 'Delete the role', isDangerous: true }))) return
    await callApi({
      call: (api) => api.v1.deleteAclRole({ params: { role_id: role.ID } }),
      successMessage: 'The role is deleted.',
    })
  }
  return (
    <span className="row task-controls">
      <ActionButton disabledReason={disabledReason} onAction={onEdit}>
        Edit…<span className="hidden"> {role.Name}</span>
      </ActionButton>
      <ActionButton kind="danger" disabledReason={disabledReason} onAction={remove}>
        Delete…<span className="hidden"> {role.Name}</span>
      </ActionButton>
    </span>
  )
}
