import type { v2 } from '@reeve/contract'
import type { Reply } from '@reeve/sdk'
import { useState } from 'react'
import { useApiAction } from '../../data/use-act.ts'
import { DialogForm } from '../../parts/dialog-form.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { TextField } from '../../parts/form.tsx'
import { NewSecret } from '../../parts/secret-once.tsx'
import type { Api } from '../../session/api.ts'

export type CreateToken = (
  api: Api,
  body: v2.AuthenticationTokenRequest,
) => Promise<Reply<v2.CreatedAuthenticationTokenDocument>>

interface NewAuthTokenProps {
  readonly title: string
  /** Whether tokens have a description; holders of a single token need none. */
  readonly hasDescription: boolean
  readonly createToken: CreateToken
  readonly onClose: () => void
}

/** The dialog for a new governance token; its secret is shown once. */
export function NewAuthToken({ title, hasDescription, createToken, onClose }: NewAuthTokenProps) {
  const callApi = useApiAction()
  const [secret, setSecret] = useState<string>()
  const [description, setDescription] = useState('')
  const [lastDay, setLastDay] = useState('')
  const isMissing = hasDescription && description.trim() === ''
  const create = async () => {
    const attributes = {
      ...(hasDescription ? { description: description.trim() } : {}),
      // The end of that day in the time zone of the browser.
      'expired-at': lastDay === '' ? null : new Date(`${lastDay}T23:59:59`).toISOString(),
    }
    const created = await callApi({
      call: (api) => createToken(api, { data: { type: 'authentication-tokens', attributes } }),
      successMessage: 'The token is created.',
    })
    if (created !== undefined) setSecret(created.data.data.attributes.token)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {secret !== undefined ? (
        <NewSecret secret={secret} onClose={onClose} />
      ) : (
        <DialogForm
          action="Create the token"
          disabledReason={isMissing ? 'Enter a description.' : undefined}
          onSubmit={create}
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
            hint="By default the maximum lifetime of the server."
          >
            {(field) => (
              <input
                {...field}
                type="date"
                value={lastDay}
                onChange={(event) => setLastDay(event.target.value)}
              />
            )}
          </Field>
        </DialogForm>
      )}
    </Dialog>
  )
}
