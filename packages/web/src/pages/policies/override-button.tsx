import { useState } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { FormDialog, TextField } from '../../parts/form.tsx'
import type { Api } from '../../session/api.ts'

interface OverrideButtonProps {
  readonly refusal: Verdict
  readonly call: (api: Api, comment: string) => Promise<unknown>
}

/** Lets a run go on although policies failed. Who and why is kept. */
export function OverrideButton({ refusal, call }: OverrideButtonProps) {
  const act = useAct()
  const [isAsking, setAsking] = useState(false)
  const [comment, setComment] = useState('')
  const override = async () => {
    const done = await act({
      call: (api) => call(api, comment),
      done: 'The policies are overridden.',
    })
    return done !== undefined
  }
  return (
    <>
      <ActionButton refusal={refusal} onAct={() => setAsking(true)}>
        Override…
      </ActionButton>
      {isAsking && (
        <FormDialog
          title="Override the policies"
          action="Override"
          onSubmit={override}
          onClose={() => setAsking(false)}
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
