import { useState } from 'react'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { FormDialog, TextField } from '../../parts/form.tsx'
import type { Api } from '../../session/api.ts'

interface OverrideButtonProps {
  readonly disabledReason: DisabledReason
  readonly call: (api: Api, comment: string) => Promise<unknown>
}

/** Overrides failed policies of a run. The user and the comment are recorded. */
export function OverrideButton({ disabledReason, call }: OverrideButtonProps) {
  const callApi = useApiAction()
  const [isOpen, setOpen] = useState(false)
  const [comment, setComment] = useState('')
  const override = async () => {
    const result = await callApi({
      call: (api) => call(api, comment),
      successMessage: 'The policies are overridden.',
    })
    return result !== undefined
  }
  return (
    <>
      <ActionButton disabledReason={disabledReason} onAction={() => setOpen(true)}>
        Override…
      </ActionButton>
      {isOpen && (
        <FormDialog
          title="Override the policies"
          action="Override"
          onSubmit={override}
          onClose={() => setOpen(false)}
        >
          <TextField
            label="Why"
            isOptional
            value={comment}
            onChange={setComment}
            hint="Recorded with your name in the run and in the audit trail."
          />
        </FormDialog>
      )}
    </>
  )
}
