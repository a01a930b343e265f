import { TOKEN_TYPES, type AclToken, type TokenType } from '@reeve/contract'
import { useState } from 'react'
import { accessCan } from '../../actions/access-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { DialogForm } from '../../parts/dialog-form.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { useSession } from '../../session/session.tsx'
import { Choices } from './choices.tsx'

interface TokenFormProps {
  /** Undefined makes a new one. */
  readonly token: AclToken | undefined
  readonly onClose: () => void
}

export function TokenForm({ token, onClose }: TokenFormProps) {
  const [made, setMade] = useState<AclToken>()
  const title = token === undefined ? 'New token' : `Edit ${token.Name || token.AccessorID}`
  return (
    <Dialog title={title} onClose={onClose}>
      {made === undefined ? (
        <Form token={token} onClose={onClose} onMade={setMade} />
      ) : (
        <SecretOnce secret={made.SecretID} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface FormProps extends TokenFormProps {
  readonly onMade: (token: AclToken) => void
}

function Form({ token, onClose, onMade }: FormProps) {
  const { rights } = useSession()
  const act = useAct()
  const [name, setName] = useState(token?.Name ?? '')
  const [type, setType] = useState<TokenType>(token?.Type ?? 'client')
  const [policies, setPolicies] = useState<readonly string[]>(token?.Policies ?? [])
  const [roles, setRoles] = useState<readonly string[]>((token?.Roles ?? []).map(({ ID }) => ID))
  const [lifetime, setLifetime] = useState('')
  const isClient = type === 'client'
  const hasNothing = isClient && policies.length === 0 && roles.length === 0
  const refusal = accessCan.write(rights) ?? (hasNothing ? 'Choose a policy or a role.' : undefined)
  const store = async () => {
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
    const reply = await act({
      call: (api) =>
        token === undefined
          ? api.v1.createAclToken({ body })
          : api.v1.updateAclToken({ params: { accessor_id: token.AccessorID }, body }),
      done: token === undefined ? 'The token is created.' : 'The token is changed.',
    })
    if (reply === undefined) return
    if (token === undefined) onMade(reply.data)
    else onClose()
  }
  return (
    <DialogForm
      action={token === undefined ? 'Create the token' : 'Store'}
      refusal={refusal}
      onSubmit={store}
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
  const known = useRead(['access-policies'], (api, signal) => api.v1.listAclPolicies({ signal }))
  const knownRoles = useRead(['roles'], (api, signal) => api.v1.listAclRoles({ signal }))
  return (
    <>
      <Choices
        label="Policies"
        none="There are no policies yet: write one first."
        options={(known.data ?? []).map(({ Name }) => ({ id: Name, text: Name }))}
        chosen={policies}
        onChange={setPolicies}
      />
      <Choices
        label="Roles"
        none="There are no roles."
        options={(knownRoles.data ?? []).map(({ ID, Name }) => ({ id: ID, text: Name }))}
        chosen={roles}
        onChange={setRoles}
      />
    </>
  )
}
