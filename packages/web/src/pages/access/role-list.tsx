import type { AclRole } from '@reeve/contract'
import { useState } from 'react'
import { accessCan } from '../../actions/access-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { useSession } from '../../session/session.tsx'
import '../../style/cluster.css'
import { WithAccessControl } from './access-off.tsx'
import { RoleForm } from './role-form.tsx'

type Edited = AclRole | 'new' | undefined

/** Policies under one name. */
export function RoleListPage() {
  const { rights } = useSession()
  const [edited, setEdited] = useState<Edited>()
  return (
    <>
      <PageHead
        title="Roles"
        lead="Named sets of policies. Changing a role changes all its tokens."
        actions={
          <ActionButton
            kind="primary"
            refusal={accessCan.write(rights)}
            onAct={() => setEdited('new')}
          >
            New role…
          </ActionButton>
        }
      />
      <WithAccessControl>
        <Roles onEdit={setEdited} />
      </WithAccessControl>
      <CommandLine cli="reeve acl role list" call={{ path: '/v1/acl/roles' }} />
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
  const roles = useRead(['roles'], (api, signal) => api.v1.listAclRoles({ signal }), {
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
      head: 'Do',
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
  const { rights } = useSession()
  const act = useAct()
  const confirm = useConfirm()
  const refusal = accessCan.write(rights)
  const remove = async () => {
    const title = `Delete the role ${role.Name}?`
    const body = 'Tokens lose the permissions it grants.'
    if (!(await confirm({ title, body, action: 'Delete the role', isDangerous: true }))) return
    await act({
      call: (api) => api.v1.deleteAclRole({ params: { role_id: role.ID } }),
      done: 'The role is deleted.',
    })
  }
  return (
    <span className="row task-controls">
      <ActionButton refusal={refusal} onAct={onEdit}>
        Edit…<span className="hidden"> {role.Name}</span>
      </ActionButton>
      <ActionButton kind="danger" refusal={refusal} onAct={remove}>
        Delete…<span className="hidden"> {role.Name}</span>
      </ActionButton>
    </span>
  )
}
