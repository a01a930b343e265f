import { TOKEN_TYPES, type AclToken, type TokenType } from '@reeve/contract'
import { useState } from 'react'
import { accessDisabledReason } from '../../permissions/cluster.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { DialogForm, Field } from '../../components/form.tsx'
import { Dialog, NewSecret } from '../../components/dialog.tsx'
import { useSession } from '../../session/session.tsx'
import { CheckboxGroup } from '../../components/checkbox-group.tsx'

interface TokenFormProps {
  /** The edited token; undefined to create one. */
  readonly token: AclToken | undefined
  readonly onClose: () => void
}

export function TokenForm({ token, onClose }: TokenFormProps) {
  const [createdToken, setCreatedToken] = useState<AclToken>()
  const title = token === undefined ? 'New token' : `Edit ${token.Name || token.AccessorID}`
  return (
    <Dialog title={title} onClose={onClose}>
      {createdToken === undefined ? (
        <Form token={token} onClose={onClose} onCreated={setCreatedToken} />
      ) : (
        <NewSecret secret={createdToken.SecretID} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface FormProps extends TokenFormProps {
  readonly onCreated: (token: AclToken) => void
}

function Form({ token, onClose, onCreated }: FormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [name, setName] = useState(token?.Name ?? '')
  const [type, setType] = useState<TokenType>(token?.Type ?? 'client')
  const [policies, setPolicies] = useState<readonly string[]>(token?.Policies ?? [])
  const [roles, setRoles] = useState<readonly string[]>((token?.Roles ?? []).map(({ ID }) => ID))
  const [lifetime, setLifetime] = useState('')
  const isClient = type === 'client'
  const grantsNothing = isClient && policies.length === 0 && roles.length === 0
  const disabledReason =
    accessDisabledReason.write(permissions) ??
    (grantsNothing ? 'Choose a policy or a role.' : undefined)
  const save = async () => {
    const body = {
      Name: name,
      Type: type,
      Policies: isClient ? [...policies] : [],
      Roles: isClient ? roles.map((ID) => ({ ID, Name: '' })) : [],
      ...(token === undefined
        ? lifetime === ''
          ? {}
          : { ExpirationTTL: lifetime }
        : { AccessorID: token.AccessorID, Global: token.Global }),
    }
    const reply = await callApi({
      call: (api) =>
        token === undefined
          ? api.v1.createAclToken({ body })
          : api.v1.updateAclToken({ params: { accessor_id: token.AccessorID }, body }),
      successMessage: token === undefined ? 'The token is created.' : 'The token is updated.',
    })
    if (reply === undefined) return
    if (token === undefined) onCreated(reply.data)
    else onClose()
  }
  return (
    <DialogForm
      action={token === undefined ? 'Create the token' : 'Save'}
      disabledReason={disabledReason}
      onSubmit={save}
      onClose={onClose}
    >
      <Field label="Name" isOptional hint="Its holder, such as a person or a pipeline.">
        {(attributes) => (
          <input {...attributes} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
      <Field label="Type">
        {(attributes) => (
          <select
            {...attributes}
            value={type}
            disabled={token !== undefined}
            onChange={({ target }) =>
              setType(TOKEN_TYPES.find((one) => one === target.value) ?? 'client')
            }
          >
            {TOKEN_TYPES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      {isClient && <Grants {...{ policies, setPolicies, roles, setRoles }} />}
      {token === undefined && <Lifetime value={lifetime} onChange={setLifetime} />}
    </DialogForm>
  )
}

interface LifetimeProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

function Lifetime({ value, onChange }: LifetimeProps) {
  return (
    <Field label="Lifetime" isOptional hint="Such as 8h; without one it does not expire.">
      {(attributes) => (
        <input {...attributes} value={value} onChange={(event) => onChange(event.target.value)} />
      )}
    </Field>
  )
}

interface GrantsProps {
  readonly policies: readonly string[]
  readonly setPolicies: (names: readonly string[]) => void
  readonly roles: readonly string[]
  readonly setRoles: (ids: readonly string[]) => void
}

function Grants({ policies, setPolicies, roles, setRoles }: GrantsProps) {
  const policyList = useApiQuery(['access-policies'], (api, signal) =>
    api.v1.listAclPolicies({ signal }),
  )
  const roleList = useApiQuery(['roles'], (api, signal) => api.v1.listAclRoles({ signal }))
  return (
    <>
      <CheckboxGroup
        label="Policies"
        emptyText="No ACL policies yet. Create one first."
        options={(policyList.data ?? []).map(({ Name }) => ({ id: Name, text: Name }))}
        selected={policies}
        onChange={setPolicies}
      />
      <CheckboxGroup
        label="Roles"
        emptyText="No roles."
        options={(roleList.data ?? []).map(({ ID, Name }) => ({ id: ID, text: Name }))}
        selected={roles}
        onChange={setRoles}
      />
    </>
  )
}
