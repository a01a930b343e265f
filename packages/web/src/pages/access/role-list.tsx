import type { AclRole } from '@reeve/contract'
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
import { CheckboxGroup } from '../../components/checkbox-group.tsx'
import { FormDialog, TextField } from '../../components/form.tsx'
import { PageHeader } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useSession } from '../../session/session.tsx'
import '../../style/cluster.css'
import { AccessControlGuard } from './access-control-guard.tsx'

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

interface RoleFormProps {
  /** The edited role; undefined to create one. */
  readonly role: AclRole | undefined
  readonly onClose: () => void
}

/** The dialog to create or edit a role. */
function RoleForm({ role, onClose }: RoleFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [name, setName] = useState(role?.Name ?? '')
  const [description, setDescription] = useState(role?.Description ?? '')
  const [policies, setPolicies] = useState<readonly string[]>(
    (role?.Policies ?? []).map(({ Name }) => Name),
  )
  const policyList = useApiQuery(['access-policies'], (api, signal) =>
    api.v1.listAclPolicies({ signal }),
  )
  const disabledReason =
    accessDisabledReason.write(permissions) ??
    (name.trim() === '' ? 'Enter a name.' : undefined) ??
    (policies.length === 0 ? 'Choose a policy.' : undefined)
  const save = async () => {
    const body = {
      Name: name.trim(),
      Description: description,
      Policies: policies.map((Name) => ({ Name })),
    }
    const result = await callApi({
      call: (api) =>
        role === undefined
          ? api.v1.createAclRole({ body })
          : api.v1.updateAclRole({ params: { role_id: role.ID }, body: { ...body, ID: role.ID } }),
      successMessage: `The role ${body.Name} is saved.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={role === undefined ? 'New role' : `Edit ${role.Name}`}
      action="Save"
      disabledReason={disabledReason}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} />
      <TextField label="Description" isOptional value={description} onChange={setDescription} />
      <CheckboxGroup
        label="Policies"
        emptyText="No ACL policies yet. Create one first."
        options={(policyList.data ?? []).map(({ Name }) => ({ id: Name, text: Name }))}
        selected={policies}
        onChange={setPolicies}
      />
    </FormDialog>
  )
}
