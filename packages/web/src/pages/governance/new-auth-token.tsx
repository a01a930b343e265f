import type { v2 } from '@reeve/contract'
import type { Reply } from '@reeve/sdk'
import { useState } from 'react'
import { useAct } from '../../data/use-act.ts'
import { DialogForm } from '../../parts/dialog-form.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { TextField } from '../../parts/form.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import type { Api } from '../../session/api.ts'

export type CreateToken = (
  api: Api,
  body: v2.AuthenticationTokenRequest,
) => Promise<Reply<v2.CreatedAuthenticationTokenDocument>>

interface NewAuthTokenProps {
  readonly title: string
  /** Tokens of one holder are told apart by it; a holder with one token needs none. */
  readonly hasDescription: boolean
  readonly create: CreateToken
  readonly onClose: () => void
}

/** A token of the governance API; its secret is shown once. */
export function NewAuthToken({ title, hasDescription, create, onClose }: NewAuthTokenProps) {
  const act = useAct()
  const [secret, setSecret] = useState<string>()
  const [description, setDescription] = useState('')
  const [day, setDay] = useState('')
  const isMissing = hasDescription && description.trim() === ''
  const make = async () => {
    const attributes = {
      ...(hasDescription ? { description: description.trim() } : {}),
      // The end of that day, wherever the browser is.
      'expired-at': day === '' ? null : new Date(`${day}T23:59:59`).toISOString(),
    }
    const made = await act({
      call: (api) => create(api, { data: { type: 'authentication-tokens', attributes } }),
      done: 'The token is created.',
    })
    if (made !== undefined) setSecret(made.data.data.attributes.token)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {secret !== undefined ? (
        <SecretOnce secret={secret} onClose={onClose} />
      ) : (
        <DialogForm
          action="Create the token"
          refusal={isMissing ? 'Say who or what holds it.' : undefined}
          onSubmit={make}
          onClose={onClose}
        >
          {hasDescription && (
            <TextField
              label="Description"
              attribute="description"
              value={description}
              onChange={setDescription}
              hint="Its holder, such as a person or a pipeline."
            />
          )}
          <Field
            label="Last day"
            attribute="expired-at"
            isOptional
            hint="Without one it lasts as long as the server lets it."
          >
            {(field) => (
              <input
                {...field}
                type="date"
                value={day}
                onChange={(event) => setDay(event.target.value)}
              />
            )}
          </Field>
        </DialogForm>
      )}
    </Dialog>
  )
}
