import type { AclRole } from '@reeve/contract'
import { useState } from 'react'
import { accessCan } from '../../actions/access-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { useSession } from '../../session/session.tsx'
import { Choices } from './choices.tsx'

interface RoleFormProps {
  /** Undefined makes a new one. */
  readonly role: AclRole | undefined
  readonly onClose: () => void
}

/** A role is made or changed. */
export function RoleForm({ role, onClose }: RoleFormProps) {
  const { rights } = useSession()
  const act = useAct()
  const [name, setName] = useState(role?.Name ?? '')
  const [description, setDescription] = useState(role?.Description ?? '')
  const [policies, setPolicies] = useState<readonly string[]>(
    (role?.Policies ?? []).map(({ Name }) => Name),
  )
  const known = useRead(['access-policies'], (api, signal) => api.v1.listAclPolicies({ signal }))
  const refusal =
    accessCan.write(rights) ??
    (name.trim() === '' ? 'Enter a name.' : undefined) ??
    (policies.length === 0 ? 'Choose a policy.' : undefined)
  const store = async () => {
    const body = {
      Name: name.trim(),
      Description: description,
      Policies: policies.map((Name) => ({ Name })),
    }
    const done = await act({
      call: (api) =>
        role === undefined
          ? api.v1.createAclRole({ body })
          : api.v1.updateAclRole({ params: { role_id: role.ID }, body: { ...body, ID: role.ID } }),
      done: `The role ${body.Name} is stored.`,
    })
    return done !== undefined
  }
  return (
    <FormDialog
      title={role === undefined ? 'New role' : `Edit ${role.Name}`}
      action="Store"
      refusal={refusal}
      onSubmit={store}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} />
      <TextField label="Description" isOptional value={description} onChange={setDescription} />
      <Choices
        label="Policies"
        none="There are no policies yet: write one first."
        options={(known.data ?? []).map(({ Name }) => ({ id: Name, text: Name }))}
        chosen={policies}
        onChange={setPolicies}
      />
    </FormDialog>
  )
}
