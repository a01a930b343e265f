import type { AclRole } from '@reeve/contract'
import { useState } from 'react'
import { accessDisabledReason } from '../../actions/access-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { useSession } from '../../session/session.tsx'
import { CheckboxGroup } from './choices.tsx'

interface RoleFormProps {
  /** The edited role; undefined to create one. */
  readonly role: AclRole | undefined
  readonly onClose: () => void
}

/** The dialog to create or edit a role. */
export function RoleForm({ role, onClose }: RoleFormProps) {
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
      successMessage: `The role ${body.Name} is stored.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={role === undefined ? 'New role' : `Edit ${role.Name}`}
      action="Store"
      disabledReason={disabledReason}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} />
      <TextField label="Description" isOptional value={description} onChange={setDescription} />
      <CheckboxGroup
        label="Policies"
        emptyText="There are no policies yet: write one first."
        options={(policyList.data ?? []).map(({ Name }) => ({ id: Name, text: Name }))}
        selected={policies}
        onChange={setPolicies}
      />
    </FormDialog>
  )
}
